-- Cancels queued jobs whose expires_at has passed. Never waits.
create or replace function jobforge.expire(p_now timestamptz, p_limit integer) returns integer
language plpgsql as $$
begin
  return jobforge.finish_queued(array(
    select j.id
    from jobforge.jobs j
    where j.expires_at <= p_now and j.expires_at is not null and j.state <> 'running'
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
      select j.id from jobforge.jobs j where j.id = c.job_id and j.state <> 'running' limit 1 for update skip locked
    ) x
    order by c.job_id
    limit p_limit);
  delete from jobforge.cancel_requests c
  where c.ctid = any (array(
    select r.ctid
    from jobforge.cancel_requests r
    where (select j.id from jobforge.jobs j where j.id = r.job_id) is null
    limit p_limit
    for update skip locked));
  return jobforge.finish_queued(v_ids, 'canceled', p_now);
end $$;

-- Enqueues the children that waited for a key which another transaction held. Stops after ten children that would
-- still wait.
create or replace function jobforge.empty_outbox(p_now timestamptz, p_limit integer) returns integer
language plpgsql as $$
declare
  v_child jobforge.outbox;
  v_count integer := 0;
  v_held integer := 0;
begin
  for v_child in
    select o.* from jobforge.outbox o order by random() limit p_limit for update skip locked
  loop
    if jobforge.try_enqueue(v_child.tenant_id, v_child.jobs, p_now) then
      delete from jobforge.outbox o where o.id = v_child.id;
      v_count := v_count + 1;
    else
      v_held := v_held + 1;
    end if;
    exit when v_held >= 10;
  end loop;
  return v_count;
end $$;

-- Keeps work flowing: lost leases, expired jobs, and cancel requests, children and ends of scheduled runs that fell
-- between two calls. Runs at most every five seconds unless forced. Each step fails alone. Returns true if a job
-- returned to the queue or left it.
create or replace function jobforge.maintain_jobs(p_now timestamptz, p_limit integer, p_force boolean) returns boolean
language plpgsql as $$
begin
  if not jobforge.begin_task('jobs', p_now, case when not p_force then interval '5 seconds' end) then
    return false;
  end if;
  return coalesce(jobforge.run_steps('jobs',
    '{apply_cancel_requests, reclaim, expire, empty_outbox, fold_ends}', p_now, p_limit) > 0, false);
end $$;
