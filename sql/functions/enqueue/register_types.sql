-- The registry of types. Every way to create a job or a schedule registers its tenant and type first. A registration is
-- renewed by an enqueue after a day, and maintenance forgets it after two days if nothing uses it. So a transaction
-- that found a registration must have been open for a day to commit a job without one.

-- Registers the types that a tenant is about to use. The caller has checked the quota of types. Never waits.
create or replace function jobforge.register_types(p_tenant_id uuid, p_types text[], p_now timestamptz) returns void
language plpgsql
set enable_seqscan = off as $$
begin
  insert into jobforge.tenant_types (tenant_id, type, seen_at)
  select p_tenant_id, t.type, p_now
  from (select distinct u.type from unnest(p_types) u(type)) t
  where (
    select true
    from jobforge.tenant_types r
    where r.tenant_id = p_tenant_id and r.type = t.type and r.seen_at > p_now - jobforge.registration_renewal()
    limit 1) is null;
end $$;

-- Returns whether a tenant uses a type, and need not register it again today.
create or replace function jobforge.is_registered(p_tenant_id uuid, p_type text, p_now timestamptz) returns boolean
language plpgsql stable
set enable_seqscan = off as $$
begin
  return (
    select true
    from jobforge.tenant_types r
    where r.tenant_id = p_tenant_id and r.type = p_type and r.seen_at > p_now - jobforge.registration_renewal()
    limit 1) is not null;
end $$;

-- Registers the types of jobs that a caller enqueues, or of a schedule that it makes. Raises JF007, with p_field, if
-- the tenant's quota of types has no room for them. Never waits.
create or replace function jobforge.add_types(p_tenant_id uuid, p_types text[], p_now timestamptz, p_field text)
returns void
language plpgsql as $$
declare
  v_new text[] := jobforge.unregistered_types(p_tenant_id, p_types);
begin
  if cardinality(v_new) > 0 and cardinality(v_new) > jobforge.types_left(p_tenant_id) then
    perform jobforge.fail_types(p_tenant_id, p_field);
  end if;
  perform jobforge.register_types(p_tenant_id, p_types, p_now);
end $$;

-- Returns those of the types that a tenant does not use yet, in their order.
create or replace function jobforge.unregistered_types(p_tenant_id uuid, p_types text[]) returns text[]
language plpgsql stable
set enable_seqscan = off as $$
begin
  return array(
    select t.type
    from unnest(p_types) with ordinality t(type, ord)
    where (
      select true from jobforge.tenant_types r where r.tenant_id = p_tenant_id and r.type = t.type limit 1) is null
    order by t.ord);
end $$;

-- Returns up to p_most of the types that a tenant uses, in the order of their names from p_from on and then from the
-- first one on. Goes from type to type through the index.
create or replace function jobforge.types_of(p_tenant_id uuid, p_most integer, p_from text default '') returns text[]
language plpgsql stable
set enable_seqscan = off
set enable_sort = off as $$
declare
  v_types text[] := '{}';
begin
  for v_round in 1 .. 2 loop
    v_types := v_types || array(
      with recursive used as (
        (select r.type
        from jobforge.tenant_types r
        where r.tenant_id = p_tenant_id and r.type >= case v_round when 1 then p_from else '' end
        order by r.type
        limit 1)
        union all
        select x.type
        from used u
        cross join lateral (
          select r.type
          from jobforge.tenant_types r
          where r.tenant_id = p_tenant_id and r.type > u.type
          order by r.type
          limit 1
        ) x
      )
      select u.type from used u where v_round = 1 or u.type < p_from collate "C"
      limit p_most - cardinality(v_types));
    exit when p_from = '' or cardinality(v_types) >= p_most;
  end loop;
  return v_types;
end $$;

-- Returns a tenant of the registry, each with about the same probability; null when the registry is empty.
create or replace function jobforge.random_tenant() returns uuid
language plpgsql volatile
set enable_seqscan = off
set enable_sort = off as $$
declare
  v_place bigint := jobforge.random_lane();
begin
  return coalesce(
    (select r.tenant_id
    from jobforge.tenant_types r
    where uuid_hash_extended(r.tenant_id, 0) >= v_place
    order by uuid_hash_extended(r.tenant_id, 0)
    limit 1),
    (select r.tenant_id from jobforge.tenant_types r order by uuid_hash_extended(r.tenant_id, 0) limit 1));
end $$;

-- Returns a type that a tenant uses, each with about the same probability; null when it uses none.
create or replace function jobforge.random_type(p_tenant_id uuid) returns text
language plpgsql volatile
set enable_seqscan = off
set enable_sort = off as $$
declare
  v_lane bigint := uuid_hash_extended(p_tenant_id, 0);
  v_place bigint := jobforge.random_lane();
begin
  return coalesce(
    (select r.type
    from jobforge.tenant_types r
    where uuid_hash_extended(r.tenant_id, 0) = v_lane and hashtextextended(r.type, 0) >= v_place
    order by uuid_hash_extended(r.tenant_id, 0), hashtextextended(r.type, 0)
    limit 1),
    (select r.type
    from jobforge.tenant_types r
    where uuid_hash_extended(r.tenant_id, 0) = v_lane
    order by uuid_hash_extended(r.tenant_id, 0), hashtextextended(r.type, 0)
    limit 1));
end $$;

-- Forgets registrations that are older than their lifetime: those that have a newer one of the same pair, and pairs
-- without a live job, an archived job and a schedule. Pairs in use are marked as seen now, so each is checked once in a
-- lifetime. A tenant with over a thousand queued jobs keeps all of its pairs. Returns how many rows it deleted. The
-- caller holds the task "forget". Never waits.
create or replace function jobforge.forget_types(p_now timestamptz, p_limit integer) returns integer
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off as $$
declare
  v_old tid[] := array(
    select r.ctid
    from jobforge.tenant_types r
    where r.seen_at < p_now - jobforge.registration_lifetime()
    order by r.seen_at
    limit least(p_limit, 100)
    for update skip locked);
  v_used tid[];
  v_count integer;
begin
  if cardinality(v_old) = 0 then
    return 0;
  end if;
  with queued as materialized (
    -- The types of each tenant's queued jobs, if these are not too many to read.
    select t.tenant_id, count(*) > 1000 as many, array_agg(distinct j.type::text) as types
    from (select distinct r.tenant_id from jobforge.tenant_types r where r.ctid = any (v_old)) t
    cross join lateral (
      -- A range and not an equality: see jobforge.some_types_of.
      select j.type
      from jobforge.queue j
      where j.tenant_id between t.tenant_id and t.tenant_id and j.state <> ''
      order by j.tenant_id, j.id
      limit 1001
    ) j
    group by t.tenant_id
  ), running as materialized (
    select distinct j.tenant_id, j.type from jobforge.runs j
  )
  select array_agg(r.ctid) into v_used
  from jobforge.tenant_types r
  where r.ctid = any (v_old)
    -- Each question is a subquery with a limit, which Postgres cannot turn into a scan of the whole table.
    and (
      select true
      from jobforge.tenant_types n
      where n.tenant_id = r.tenant_id and n.type = r.type and n.seen_at >= r.seen_at
        and (n.seen_at, n.ctid) > (r.seen_at, r.ctid)
      limit 1) is null
    and coalesce(
      (select true from queued q where q.tenant_id = r.tenant_id and (q.many or r.type::text = any (q.types)) limit 1),
      (select true from running u where u.tenant_id = r.tenant_id and u.type = r.type limit 1),
      (select true from jobforge.schedules s where s.tenant_id = r.tenant_id and s.type = r.type limit 1),
      (select true from jobforge.archive a where a.type = r.type and a.tenant_id = r.tenant_id limit 1),
      false);
  update jobforge.tenant_types r set seen_at = p_now where r.ctid = any (v_used);
  -- An updated row has another place, so the rest of the old places are rows to delete.
  delete from jobforge.tenant_types r
  where r.ctid = any (v_old) and r.seen_at < p_now - jobforge.registration_lifetime();
  get diagnostics v_count = row_count;
  return v_count;
end $$;
