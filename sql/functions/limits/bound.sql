-- Limits and roles that are bound to a tenant. Such a role may be in the hands of its tenant and leave its transaction
-- open for as long as it likes. It must hold nothing then that claims of other tenants need, and limits stay exact.
--
-- THE BUCKETS OF ITS OWN TENANT. A bound claim locks the row of its tenant in bound_tenants until it ends. Then it
-- takes the shared locks of the buckets for a moment, in a subtransaction that is rolled back. A claim that is not
-- bound takes the shared locks first, holds them until it ends, and then checks that the tenant's row is free. Of two
-- claims that want the same bucket, the one that is not bound
--   * held the shared lock when the bound one tried it: then the bound claim does not get the bucket;
--   * has ended before: then the bound claim sees its runs;
--   * takes the shared lock later: then it finds the tenant's row locked and does not get the bucket.
--
-- THE BUCKETS OF TYPES, which all tenants share. A bound claim changes one of its marks (type_marks) for each job that
-- it wants to start, and then takes the shared lock of the type for a moment. Every claim that decides about the type
-- counts the marks that it cannot lock as runs, and counts the runs afterwards. Commit frees the marks and shows the
-- runs at the same moment, so a run is counted once or twice but never missed. Two bound claims count each other's
-- marks. Starts of a type with a rate are appended to type_starts.

-- Records that a role is bound to a tenant. jobforge_bind_role calls it. The row stays when the binding is removed.
create or replace function jobforge.note_bound_tenant(p_tenant_id uuid) returns void
language plpgsql as $$
begin
  insert into jobforge.bound_tenants (tenant_id) values (p_tenant_id) on conflict do nothing;
end $$;

-- Returns those of the tenants whose buckets a bound claim holds. The other ones that have a row stay as they are until
-- this transaction ends. Never waits.
create or replace function jobforge.tenants_in_use(p_tenant_ids uuid[]) returns uuid[]
language plpgsql as $$
declare
  v_bound uuid[] := array(select t.tenant_id from jobforge.bound_tenants t where t.tenant_id = any (p_tenant_ids));
  v_free uuid[];
begin
  if cardinality(v_bound) = 0 then
    return v_bound;
  end if;
  v_free := array(
    select t.tenant_id from jobforge.bound_tenants t where t.tenant_id = any (v_bound) for key share skip locked);
  return array(select b from unnest(v_bound) b where b <> all (v_free));
end $$;

-- Does for a role that is bound to a tenant what jobforge.lock_buckets does for others. Never waits.
create or replace function jobforge.lock_as_bound(
  p_ids bigint[], p_tenant_ids uuid[], p_of_types boolean, p_bound uuid
) returns bigint[]
language plpgsql as $$
declare
  v_ids bigint[] := p_ids;
  v_locked bigint[];
begin
  if not p_of_types then
    perform from jobforge.bound_tenants t where t.tenant_id = p_bound for update skip locked;
    if not found then
      return '{}';
    end if;
    v_ids := array(select b.id from unnest(p_ids, p_tenant_ids) b(id, tenant_id) where b.tenant_id = p_bound);
  end if;
  begin
    v_locked := jobforge.lock_shared(v_ids, p_of_types);
    raise sqlstate 'JF000';
  exception when sqlstate 'JF000' then
    -- The rollback has released the shared locks.
    return v_locked;
  end;
end $$;

-- Changes up to p_most[i] free marks of a tenant for each p_types[i], and returns how many it changed. The first claim
-- of a type makes marks, which later transactions can use: other transactions must see a mark before it is changed.
-- Never waits.
create or replace function jobforge.use_marks(p_tenant_id uuid, p_types text[], p_most integer[], p_now timestamptz)
returns integer[]
language plpgsql as $$
declare
  v_used integer[] := '{}';
  v_count integer;
begin
  for i in 1 .. cardinality(p_types) loop
    update jobforge.type_marks m
    set used_by = pg_current_xact_id()
    where m.id = any (array(
      select f.id
      from jobforge.type_marks f
      where f.type = p_types[i] and f.tenant_id = p_tenant_id and f.used_by <> pg_current_xact_id()
      limit p_most[i]
      for update skip locked));
    get diagnostics v_count = row_count;
    if v_count = 0 and not exists (
      select from jobforge.type_marks m where m.type = p_types[i] and m.tenant_id = p_tenant_id)
    then
      insert into jobforge.type_marks (type, tenant_id, used_by, made_at)
      select p_types[i], p_tenant_id, pg_current_xact_id(), p_now from generate_series(1, 16);
    end if;
    v_used := v_used || v_count;
  end loop;
  return v_used;
end $$;

-- Returns for each of the types how many marks open transactions of others have changed. It tries to lock the marks
-- that have been changed or locked (xmax), and releases them again. Never waits.
create or replace function jobforge.marks_of_others(p_types text[]) returns integer[]
language plpgsql as $$
declare
  v_counts integer[];
begin
  begin
    with touched as materialized (
      select m.id, m.type from jobforge.type_marks m where m.type = any (p_types) and m.xmax <> '0'::xid
    ), free as materialized (
      select m.id from jobforge.type_marks m where m.id in (select t.id from touched t) for share skip locked
    )
    select array_agg((
        select count(*) from touched t where t.type = x.type and t.id not in (select f.id from free f))
      order by x.ord)
    into v_counts
    from unnest(p_types) with ordinality x(type, ord);
    raise sqlstate 'JF000';
  exception when sqlstate 'JF000' then
    return v_counts;
  end;
end $$;

-- Returns when a type's bucket is full again, after the starts in type_starts: all of them, or only p_ids.
create or replace function jobforge.with_starts(
  p_until timestamptz, p_bucket bigint, p_set_at timestamptz, p_ids bigint[]
) returns timestamptz
language plpgsql stable as $$
declare
  v_until timestamptz := p_until;
  v_start jobforge.type_starts;
begin
  for v_start in
    select s.* from jobforge.type_starts s
    where s.bucket = p_bucket and s.set_at = p_set_at and (p_ids is null or s.id = any (p_ids))
    order by s.at
  loop
    v_until := greatest(v_until, v_start.at) + v_start.starts * v_start.token_us * interval '1 microsecond';
  end loop;
  return v_until;
end $$;

-- Moves the starts of types' buckets from type_starts to limit_rates. The caller holds the buckets' locks.
create or replace function jobforge.fold_starts(p_buckets bigint[]) returns void
language plpgsql as $$
declare
  v_ids bigint[] := array(select s.id from jobforge.type_starts s where s.bucket = any (p_buckets));
begin
  if cardinality(v_ids) = 0 then
    return;
  end if;
  insert into jobforge.limit_rates as r (bucket, set_at, empty_until)
  select s.bucket, s.set_at, jobforge.with_starts(
    (select o.empty_until from jobforge.limit_rates o where o.bucket = s.bucket and o.set_at = s.set_at),
    s.bucket, s.set_at, v_ids)
  from (
    select x.bucket, max(x.set_at) as set_at from jobforge.type_starts x where x.id = any (v_ids) group by x.bucket
  ) s
  on conflict (bucket) do update
  set set_at = excluded.set_at, empty_until = excluded.empty_until
  where r.set_at <= excluded.set_at;
  delete from jobforge.type_starts s where s.id = any (v_ids);
end $$;

-- Maintenance: moves starts to limit_rates, and deletes marks that were made more than a day ago, which are made again
-- when they are needed. A bound role does nothing, because the rows are those of all tenants. Never waits.
create or replace function jobforge.tidy_marks(p_now timestamptz, p_limit integer) returns void
language plpgsql as $$
begin
  if jobforge.bound_tenant() is not null then
    return;
  end if;
  if exists (select from jobforge.type_starts) then
    perform jobforge.fold_starts(jobforge.lock_shared(
      array(select distinct s.bucket from (select x.bucket from jobforge.type_starts x order by x.id limit p_limit) s),
      true));
  end if;
  delete from jobforge.type_marks m
  where m.id = any (array(
    select f.id from jobforge.type_marks f
    where f.made_at < p_now - interval '1 day'
    order by f.made_at limit p_limit for update skip locked));
end $$;
