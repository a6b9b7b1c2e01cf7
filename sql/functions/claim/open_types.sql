-- Returns the types to claim from: p_types, or with null the types that jobforge.types_to_claim chooses for a tenant
-- (null: for all tenants). Without types that a gate pauses; empty when everything is paused.
create or replace function jobforge.open_types(p_types text[], p_now timestamptz, p_tenant_id uuid default null)
returns text[]
language plpgsql stable as $$
begin
  -- Usually nothing is paused. Then a list of one type is the result.
  if exists (select from jobforge.gates) then
    if jobforge.is_paused('all', '', p_now) then
      return '{}';
    end if;
  elsif cardinality(p_types) = 1 and p_types[1] is not null then
    return p_types;
  end if;
  return array(
    select distinct t.type
    from unnest(coalesce(p_types, jobforge.types_to_claim(p_tenant_id, p_now))) t(type)
    where t.type is not null and not jobforge.is_paused('type', t.type, p_now));
end $$;

-- Returns the types to claim from for a worker that names none: the types that have a queued job or a schedule, if they
-- are at most 200. If they are more, they are the types that the tenant uses, again up to 200. Beyond that it chooses
-- some of them, others each time, so that no number of types makes a claim costly.
create or replace function jobforge.types_to_claim(p_tenant_id uuid, p_now timestamptz) returns text[]
language plpgsql volatile as $$
declare
  v_most integer := jobforge.most_types_of_a_claim();
  v_types text[] := array(
    select distinct t.type
    from unnest(jobforge.types_with('ready', v_most + 1) || jobforge.types_with('waiting', v_most + 1)
      || jobforge.types_with('scheduled', v_most + 1)) t(type));
begin
  if cardinality(v_types) <= v_most then
    return v_types;
  elsif p_tenant_id is null then
    return jobforge.some_types(p_now);
  end if;
  v_types := jobforge.types_of(p_tenant_id, v_most + 1);
  return case when cardinality(v_types) <= v_most then v_types
    else jobforge.some_types_of(p_tenant_id, v_most) || jobforge.types_of_oldest(p_tenant_id) end;
end $$;

-- Returns up to p_most types that have ready jobs, waiting jobs, or schedules that may become due ('scheduled'), in the
-- order of their names after p_after. Goes from type to type through the index, so the cost depends on the number of
-- types, not of rows. Each kind has its own statement, because each has its own partial index.
create or replace function jobforge.types_with(p_kind text, p_most integer default 1000, p_after text default '')
returns text[]
language plpgsql stable
set enable_sort = off as $$
begin
  if p_kind = 'ready' then
    return array(
      with recursive types as (
        (select j.type from jobforge.queue j where j.state = 'ready' and j.type > p_after order by j.type limit 1)
        union all
        select x.type
        from types t
        cross join lateral (
          select j.type from jobforge.queue j where j.state = 'ready' and j.type > t.type order by j.type limit 1
        ) x
      )
      select t.type from types t limit p_most);
  elsif p_kind = 'waiting' then
    return array(
      with recursive types as (
        (select j.type from jobforge.queue j where j.state = 'waiting' and j.type > p_after order by j.type limit 1)
        union all
        select x.type
        from types t
        cross join lateral (
          select j.type from jobforge.queue j where j.state = 'waiting' and j.type > t.type order by j.type limit 1
        ) x
      )
      select t.type from types t limit p_most);
  end if;
  return array(
    with recursive types as (
      (select s.type from jobforge.schedules s where s.due_at is not null and s.type > p_after order by s.type limit 1)
      union all
      select x.type
      from types t
      cross join lateral (
        select s.type from jobforge.schedules s where s.due_at is not null and s.type > t.type order by s.type limit 1
      ) x
    )
    select t.type from types t limit p_most);
end $$;

-- Returns some of the types that have work, where there are too many to look at all of them. Goes by tenants, so that a
-- tenant with very many types takes no other tenant's place: up to 64 tenants that have queued jobs, up to 64 that have
-- schedules, without paused ones, and up to 16 types of each; 256 types in all, every tenant's first type before any
-- tenant's second one. Tenants and types follow a place that is chosen at random. In addition, a few types that have
-- ready jobs or schedules for sure.
create or replace function jobforge.some_types(p_now timestamptz) returns text[]
language plpgsql volatile as $$
declare
  v_tenants uuid[] := jobforge.some_tenants('jobs', p_now, 64) || jobforge.some_tenants('schedules', p_now, 64);
  v_types text[] := array(
    select t.type
    from (select distinct i.tenant_id from unnest(v_tenants) i(tenant_id)) i
    cross join lateral unnest(jobforge.some_types_of(i.tenant_id, 16)) with ordinality t(type, nth)
    group by t.type
    order by min(t.nth)
    limit 256);
  v_place text := coalesce(v_types[1 + floor(random() * cardinality(v_types))::integer], '');
begin
  return v_types || jobforge.types_with('ready', 16, v_place) || jobforge.types_with('ready', 16)
    || jobforge.types_with('scheduled', 16, v_place) || jobforge.types_with('scheduled', 16);
end $$;

-- Returns up to p_most tenants that have queued jobs ('jobs') or schedules ('schedules') and are not paused, from a
-- random one on. Goes from tenant to tenant through an index.
create or replace function jobforge.some_tenants(p_with text, p_now timestamptz, p_most integer) returns uuid[]
language plpgsql volatile
set enable_sort = off as $$
declare
  v_start uuid := coalesce(jobforge.random_tenant(), jobforge.global_tenant());
  v_tenant uuid := v_start;
  v_tenants uuid[] := '{}';
  v_wrapped boolean := false;
begin
  while cardinality(v_tenants) < p_most loop
    if p_with = 'jobs' then
      select j.tenant_id into v_tenant
      from jobforge.queue j
      where j.tenant_id > v_tenant and j.state <> ''
      order by j.tenant_id
      limit 1;
    else
      select s.tenant_id into v_tenant
      from jobforge.schedules s
      where s.tenant_id > v_tenant
      order by s.tenant_id
      limit 1;
    end if;
    exit when v_wrapped and (v_tenant is null or v_tenant > v_start);
    if v_tenant is null then
      -- From the first tenant on. The global tenant, which is the lowest, is added at the end.
      v_wrapped := true;
      v_tenant := jobforge.global_tenant();
    elsif not jobforge.is_paused('tenant', v_tenant::text, p_now) then
      v_tenants := v_tenants || v_tenant;
    end if;
  end loop;
  return v_tenants || jobforge.global_tenant();
end $$;

-- Returns up to p_most types of a tenant, from a random one on: half of the time from one of all its types, otherwise
-- from the type of one of its queued jobs. The job is one that was created about a random time between its oldest and
-- its newest queued job, so it may never be one after a long pause. The tenant is a range of one value, here and below,
-- and part of the order: with an equality, Postgres may follow the primary key through the jobs of all tenants.
create or replace function jobforge.some_types_of(p_tenant_id uuid, p_most integer) returns text[]
language plpgsql volatile
set enable_sort = off as $$
declare
  v_oldest uuid;
  v_newest uuid;
  v_place uuid;
  v_start text;
  v_types text[];
begin
  if random() < 0.5 then
    return jobforge.types_of(p_tenant_id, p_most, coalesce(jobforge.random_type(p_tenant_id), ''));
  end if;
  select j.id into v_oldest
  from jobforge.queue j
  where j.tenant_id between p_tenant_id and p_tenant_id and j.state <> ''
  order by j.tenant_id, j.id
  limit 1;
  select j.id into v_newest
  from jobforge.queue j
  where j.tenant_id between p_tenant_id and p_tenant_id and j.state <> ''
  order by j.tenant_id desc, j.id desc
  limit 1;
  v_place := jobforge.id_floor(
    jobforge.time_of(v_oldest) + random() * (jobforge.time_of(v_newest) - jobforge.time_of(v_oldest)));
  select j.type into v_start
  from jobforge.queue j
  where (j.tenant_id, j.id) >= (p_tenant_id, v_place) and j.tenant_id <= p_tenant_id and j.state <> ''
  order by j.tenant_id, j.id
  limit 1;
  if v_start is null then
    -- The tenant has schedules only.
    v_types := jobforge.types_of(p_tenant_id, jobforge.most_types_of_a_claim());
    v_start := v_types[1 + floor(random() * cardinality(v_types))::integer];
  end if;
  return jobforge.types_of(p_tenant_id, p_most, coalesce(v_start, ''));
end $$;

-- Returns the types of a tenant's oldest queued jobs.
create or replace function jobforge.types_of_oldest(p_tenant_id uuid) returns text[]
language plpgsql stable
set enable_sort = off as $$
begin
  return array(
    select j.type
    from jobforge.queue j
    where j.tenant_id between p_tenant_id and p_tenant_id and j.state <> ''
    order by j.tenant_id, j.id
    limit jobforge.most_types_of_a_claim());
end $$;
