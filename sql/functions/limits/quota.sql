-- Quotas. The pending jobs (queued or running) of a tenant with a quota are the sum of pending_deltas. Every
-- transaction that creates or finishes jobs appends the difference, so no transaction waits for another. The sum is
-- exact except for transactions in flight: several at once may each see room for the last job.

-- Records that a tenant has p_delta more pending jobs, if it has a quota. The jobs have been written before.
-- count_pending waits for transactions that began before the quota, so a change that did not see the quota is
-- counted; reading the quota before writing the jobs would not be safe.
create or replace function jobforge.note_pending(p_tenant_id uuid, p_delta bigint) returns void
language plpgsql as $$
begin
  if p_delta <> 0 and exists (select from jobforge.tenants t where t.tenant_id = p_tenant_id
    and t.max_pending is not null) then
    insert into jobforge.pending_deltas (tenant_id, delta) values (p_tenant_id, p_delta);
  end if;
end $$;

-- Records the same for jobs of several tenants: one more, or one less (-1), for each occurrence of a tenant.
create or replace function jobforge.note_all_pending(p_tenant_ids uuid[], p_sign integer) returns void
language plpgsql as $$
begin
  -- Usually there are no quotas.
  if exists (select from jobforge.tenants) then
    insert into jobforge.pending_deltas (tenant_id, delta)
    select i.tenant_id, p_sign * i.jobs
    from (select i.tenant_id, count(*) as jobs from unnest(p_tenant_ids) i(tenant_id) group by 1) i
    -- Found one by one, also where nested loops are forbidden: there may be very many tenants.
    cross join lateral (
      select from jobforge.tenants t where t.tenant_id = i.tenant_id and t.max_pending is not null limit 1) t;
  end if;
end $$;

-- Counts the queued and running jobs of a tenant, up to p_most.
create or replace function jobforge.count_pending_jobs(p_tenant_id uuid, p_most bigint) returns bigint
language sql stable as $$
  select count(*)
  from (
    select from (
      select from jobforge.queue j where j.tenant_id = p_tenant_id and j.state <> ''
      union all
      select from jobforge.runs j where j.tenant_id = p_tenant_id
    ) j
    limit p_most
  ) j
$$;

-- Returns how many more jobs a tenant may have pending: null without a quota, negative if it has more than its quota.
-- Sums up the appended rows. If there are many, and it can do so without an error, it also compacts them.
create or replace function jobforge.room_of(p_tenant_id uuid) returns bigint
language plpgsql as $$
declare
  v_tenant jobforge.tenants;
  v_pending bigint;
  v_rows bigint;
begin
  select t.* into v_tenant from jobforge.tenants t where t.tenant_id = p_tenant_id;
  if v_tenant.max_pending is null then
    return null;
  elsif v_tenant.counted_at is null then
    return v_tenant.max_pending - jobforge.count_pending_jobs(p_tenant_id, v_tenant.max_pending + 1::bigint);
  end if;
  select coalesce(sum(d.delta), 0), count(*) into v_pending, v_rows
  from jobforge.pending_deltas d
  where d.tenant_id = p_tenant_id;
  if v_rows > 500 and current_setting('transaction_isolation') = 'read committed' then
    perform jobforge.compact_pending(p_tenant_id, 10000);
  end if;
  return v_tenant.max_pending - v_pending;
end $$;

-- Raises JF007 if a tenant with a quota has no room for p_more jobs.
create or replace function jobforge.require_room(p_tenant_id uuid, p_more integer) returns void
language plpgsql as $$
begin
  if p_more > jobforge.room_of(p_tenant_id) then
    perform jobforge.fail('JF007', 'Job limit exceeded for tenant', 'job_limit_exceeded', null,
      format('The tenant may have %s jobs queued and running. Enqueue again when some have finished, or raise max_pending with jobforge_set_tenant.',
        (select t.max_pending from jobforge.tenants t where t.tenant_id = p_tenant_id)));
  end if;
end $$;

-- Returns the positions of the jobs of a call that a tenant has room for: the jobs that already exist by their key,
-- which need no room, and the first p_room of the others. Two jobs with the same key need one place.
create or replace function jobforge.jobs_that_fit(p_tenant_id uuid, p_jobs jobforge.new_job[], p_room bigint)
returns integer[]
language sql stable as $$
  with asked as materialized (
    select j.ord,
      exists (
        select from jobforge.job_keys k
        where k.tenant_id = p_tenant_id and k.type = j.type and k.idempotency_key = j.idempotency_key)
      or exists (
        select from jobforge.dedupe_keys d
        where d.tenant_id = p_tenant_id and d.type = j.type and d.dedupe_key = j.dedupe_key) as answered,
      least(
        case when j.idempotency_key is not null then min(j.ord) over (partition by j.type, j.idempotency_key) end,
        case when j.dedupe_key is not null then min(j.ord) over (partition by j.type, j.dedupe_key) end,
        j.ord) as leader
    from unnest(p_jobs) j
  ), placed as materialized (
    select a.*, count(*) filter (where not a.answered and a.leader = a.ord) over (order by a.ord) as place from asked a
  )
  select array(
    select p.ord
    from placed p
    join placed l on l.ord = p.leader
    where p.answered or l.answered or l.place <= p_room
    order by p.ord)
$$;

-- Merges the rows that were appended for a tenant, up to p_limit, into one row. Other transactions see the state
-- before or after, never in between. Never waits.
create or replace function jobforge.compact_pending(p_tenant_id uuid, p_limit integer) returns void
language plpgsql as $$
begin
  with taken as (
    delete from jobforge.pending_deltas d
    where d.ctid = any (array(
      select f.ctid from jobforge.pending_deltas f where f.tenant_id = p_tenant_id limit p_limit
        for update skip locked))
    returning d.delta
  )
  insert into jobforge.pending_deltas (tenant_id, delta)
  select p_tenant_id, sum(t.delta)
  from taken t
  having count(*) > 0;
end $$;

-- Keeps the sums of quotas correct and short. A tenant with a new quota is counted once every transaction has ended
-- that may not have seen the quota: from then on every change is recorded, and the difference is added. Each tenant
-- is counted again once a day, in case an application's transaction with an old snapshot was missed. Jobs and
-- recorded changes are counted in one statement, so concurrent changes are in both or in neither. The caller holds
-- the task "quota". Returns the number of tenants with a quota. Never waits.
create or replace function jobforge.count_pending(p_now timestamptz, p_limit integer) returns integer
language plpgsql as $$
declare
  v_tenant jobforge.tenants;
  v_count integer := 0;
begin
  for v_tenant in
    select t.* from jobforge.tenants t where t.max_pending is not null order by t.counted_at nulls first
      for update skip locked
  loop
    if v_tenant.counting_since is null then
      update jobforge.tenants t set counting_since = pg_current_xact_id() where t.tenant_id = v_tenant.tenant_id;
    elsif v_tenant.counting_since < pg_snapshot_xmin(pg_current_snapshot())
      and coalesce(v_tenant.counted_at, '-infinity') < p_now - interval '1 day'
    then
      insert into jobforge.pending_deltas (tenant_id, delta)
      select v_tenant.tenant_id,
        jobforge.count_pending_jobs(v_tenant.tenant_id, 9223372036854775807) - coalesce(sum(d.delta), 0)
      from jobforge.pending_deltas d
      where d.tenant_id = v_tenant.tenant_id;
      update jobforge.tenants t set counted_at = p_now where t.tenant_id = v_tenant.tenant_id;
    end if;
    perform jobforge.compact_pending(v_tenant.tenant_id, p_limit);
    v_count := v_count + 1;
  end loop;
  return v_count;
end $$;

-- Returns how many more types a tenant may use; null: any number. The default number applies to callers that act for a
-- tenant, and not to operators and workers that are bound to none. A tenant's own number applies to every caller. Types
-- of transactions in flight are not counted: several at once may each use all the room that is left. Runs of schedules
-- need no room, because the type of a schedule counts.
create or replace function jobforge.types_left(p_tenant_id uuid) returns integer
language plpgsql stable as $$
declare
  v_most integer := (select t.max_types from jobforge.tenants t where t.tenant_id = p_tenant_id);
begin
  if v_most is null then
    if jobforge.bound_tenant() is null
      and (jobforge.caller_is('jobforge_operator') or jobforge.caller_is('jobforge_worker'))
    then
      return null;
    end if;
    v_most := jobforge.default_max_types();
  end if;
  return v_most - cardinality(jobforge.types_of(p_tenant_id, v_most));
end $$;

-- Raises JF007: the tenant may not use another type.
create or replace function jobforge.fail_types(p_tenant_id uuid, p_field text) returns void
language plpgsql stable as $$
begin
  perform jobforge.fail('JF007', 'Job limit exceeded for tenant: too many types', 'job_limit_exceeded', p_field,
    format('The tenant may use %s types. Put what differs into the payload, a tag or the subject, or raise max_types with jobforge_set_tenant. A type is forgotten two days after its last job has left the archive.',
      coalesce((select t.max_types from jobforge.tenants t where t.tenant_id = p_tenant_id),
        jobforge.default_max_types())));
end $$;

-- Returns those of the types of a call (in the order of the call) that a tenant may use: the types that it uses
-- already, and the first others for which its quota has room. Null if all of them fit.
create or replace function jobforge.types_that_fit(p_tenant_id uuid, p_types text[]) returns text[]
language plpgsql stable as $$
declare
  v_new text[] := jobforge.unregistered_types(p_tenant_id, p_types);
  v_left integer;
begin
  if cardinality(v_new) > 0 then
    v_left := jobforge.types_left(p_tenant_id);
  end if;
  return case when cardinality(v_new) > v_left
    then array(select t.type from unnest(p_types) t(type) where t.type <> all (v_new[greatest(v_left, 0) + 1:])) end;
end $$;
