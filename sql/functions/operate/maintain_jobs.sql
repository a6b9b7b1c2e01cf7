-- Cancels queued jobs whose expires_at has passed. Never waits.
create or replace function jobforge.expire(p_now timestamptz, p_limit integer) returns integer
language plpgsql as $$
begin
  return jobforge.finish_queued(array(
    select j.id
    from jobforge.queue j
    where j.expires_at <= p_now and j.expires_at is not null
    order by j.expires_at
    limit p_limit
    for update skip locked), 'expired', p_now);
end $$;

-- Applies cancel requests that no end of a run has applied, because the request was written after the run's end had
-- read them. A job that is queued again is canceled. A finished job needs nothing. Never waits.
create or replace function jobforge.apply_cancel_requests(p_now timestamptz, p_limit integer) returns integer
language plpgsql as $$
declare
  v_ids uuid[];
begin
  if not exists (select from jobforge.cancel_requests) then
    return 0;
  end if;
  -- This goes from the requests to their jobs in a way that the planner cannot turn around: there may be a million
  -- jobs.
  v_ids := array(
    select x.id
    from jobforge.cancel_requests c
    cross join lateral (
      select j.id from jobforge.queue j where j.id = c.job_id limit 1 for update skip locked
    ) x
    order by c.job_id
    limit p_limit);
  delete from jobforge.cancel_requests c
  where c.ctid = any (array(
    select r.ctid
    from jobforge.cancel_requests r
    where (select j.id from jobforge.live_rows j where j.id = r.job_id) is null
    limit p_limit
    for update skip locked));
  return jobforge.finish_queued(v_ids, 'canceled', p_now);
end $$;

-- Enqueues the children that waited for a key which another transaction held. Goes from tenant to tenant, from a random
-- one on, and leaves each at its first child that would still wait. Then it goes on with those tenants, until ten
-- children in all would wait. So one tenant's held keys do not delay the children of others. Visits at most 100
-- tenants, and waits at most 10 ms for each of the ten children.
create or replace function jobforge.empty_outbox(p_now timestamptz, p_limit integer) returns integer
language plpgsql as $$
declare
  v_tenants uuid[] := jobforge.outbox_tenants(gen_random_uuid(), 100);
  v_waiting uuid[];
  v_tenant uuid;
  v_turn record;
  v_count integer := 0;
  v_held integer := 0;
begin
  while v_tenants <> '{}' loop
    v_waiting := '{}';
    foreach v_tenant in array v_tenants loop
      v_turn := jobforge.enqueue_from_outbox(v_tenant, p_now, p_limit - v_count);
      v_count := v_count + v_turn.enqueued;
      if v_turn.held then
        v_waiting := v_waiting || v_tenant;
        v_held := v_held + 1;
      end if;
      if v_held >= 10 or v_count >= p_limit then
        return v_count;
      end if;
    end loop;
    v_tenants := v_waiting;
  end loop;
  return v_count;
end $$;

-- Returns up to p_most of the tenants with children in the outbox, in order from p_from on and then from the first one
-- on. Goes from tenant to tenant through the index.
create or replace function jobforge.outbox_tenants(p_from uuid, p_most integer) returns uuid[]
language plpgsql stable
set enable_seqscan = off
set enable_sort = off as $$
declare
  v_tenants uuid[] := '{}';
begin
  for v_round in 1 .. 2 loop
    v_tenants := v_tenants || array(
      with recursive waiting as (
        (select o.tenant_id
        from jobforge.outbox o
        where o.tenant_id >= case v_round when 1 then p_from else jobforge.global_tenant() end
        order by o.tenant_id
        limit 1)
        union all
        select x.tenant_id
        from waiting w
        cross join lateral (
          select o.tenant_id
          from jobforge.outbox o
          where o.tenant_id > w.tenant_id
          order by o.tenant_id
          limit 1
        ) x
      )
      select w.tenant_id from waiting w where v_round = 1 or w.tenant_id < p_from
      limit p_most - cardinality(v_tenants));
  end loop;
  return v_tenants;
end $$;

-- Enqueues up to p_limit children of one tenant from the outbox, from a random one on, until one would still wait.
-- Returns how many it enqueued, and whether one would wait.
create or replace function jobforge.enqueue_from_outbox(
  p_tenant_id uuid, p_now timestamptz, p_limit integer, out enqueued integer, out held boolean
)
language plpgsql
set enable_seqscan = off
set enable_sort = off as $$
declare
  v_first bigint;
  v_last bigint;
  v_from bigint;
  v_child jobforge.outbox;
begin
  enqueued := 0;
  held := false;
  select min(o.id), max(o.id) into v_first, v_last from jobforge.outbox o where o.tenant_id = p_tenant_id;
  v_from := v_first + floor(random() * (v_last - v_first + 1))::bigint;
  for v_round in 1 .. 2 loop
    for v_child in
      select o.*
      from jobforge.outbox o
      where o.tenant_id = p_tenant_id
        and o.id between case v_round when 1 then v_from else v_first end
          and case v_round when 1 then v_last else v_from - 1 end
      order by o.tenant_id, o.id
      limit p_limit - enqueued
      for update skip locked
    loop
      perform jobforge.register_types(p_tenant_id, array(select j.type from unnest(v_child.jobs) j), p_now);
      if not jobforge.try_enqueue(p_tenant_id, v_child.jobs, p_now) then
        held := true;
        return;
      end if;
      delete from jobforge.outbox o where o.id = v_child.id;
      enqueued := enqueued + 1;
    end loop;
  end loop;
end $$;

-- Keeps work flowing: wakeups of workflows, lost leases, expired jobs, and cancel requests, children and ends of
-- scheduled runs that fell between two calls. Runs at most every five seconds unless forced. Each step fails alone.
-- Returns true if a job returned to the queue or left it.
create or replace function jobforge.maintain_jobs(p_now timestamptz, p_limit integer, p_force boolean) returns boolean
language plpgsql as $$
begin
  if not jobforge.begin_task('jobs', p_now, case when not p_force then interval '5 seconds' end) then
    return false;
  end if;
  return coalesce(jobforge.run_steps('jobs',
    '{do_wakeups, apply_cancel_requests, reclaim, expire, empty_outbox, fold_ends, fold_webhook_ends}', p_now,
    p_limit) > 0, false);
end $$;
