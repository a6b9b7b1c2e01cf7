-- Gives the jobs of workers that fell silent back to the queue (or ends them). A lease is lost when
--   the worker heartbeats as a worker and was silent for 60 s, or it never has and the job saw no sign of life for 5 min
--   (lease_ms of the type's policy replaces both), or
--   the type's timeout passed by more than 60 s although the worker lives: a wedged handler.
-- Looks at each worker that holds jobs once, bounded by p_limit jobs. Never waits.
create or replace function jobforge.reclaim(p_now timestamptz, p_limit integer) returns integer
language plpgsql as $$
declare
  v_worker text := '';
  v_lost uuid[];
  v_count integer := 0;
  -- No lease runs out sooner after its start, so younger runs need no look.
  v_shortest interval := least(interval '1 minute', (select min(p.lease_ms) from jobforge.policies p) * interval '1 millisecond');
begin
  loop
    select j.worker_id into v_worker
    from jobforge.jobs j
    where j.state = 'running' and j.worker_id > v_worker
    order by j.worker_id
    limit 1;
    exit when not found or v_count >= p_limit;

    v_lost := array(
      select j.id
      from jobforge.jobs j
      cross join lateral (
        select max(w.seen_at) as seen_at
        from jobforge.workers w
        where w.id = j.worker_id and w.scope in (j.tenant_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
      ) w
      cross join lateral jobforge.policy_of(j.type) p
      where j.state = 'running'
        and j.worker_id = v_worker
        and j.started_at < p_now - v_shortest
        and (
          case when w.seen_at is null then coalesce(j.heartbeat_at, j.started_at) else greatest(j.started_at, w.seen_at) end
            + coalesce(p.lease_ms * interval '1 millisecond',
              case when w.seen_at is null then interval '5 minutes' else interval '1 minute' end) < p_now
          or j.started_at + p.timeout_ms * interval '1 millisecond' + interval '1 minute' < p_now)
      order by j.id
      limit p_limit - v_count
      for update of j skip locked);
    v_count := v_count + jobforge.lose_runs(v_worker, v_lost, format('Worker %s gave no sign of life', v_worker), p_now);
  end loop;
  return v_count;
end $$;

-- Ends the current runs of a worker's jobs as lost. Answers how many. The caller holds their locks.
create or replace function jobforge.lose_runs(p_worker_id text, p_job_ids uuid[], p_why text, p_now timestamptz) returns integer
language plpgsql as $$
begin
  if cardinality(p_job_ids) > 0 then
    perform jobforge.end_runs(p_worker_id, null, array(
      select row(i.ord, i.id, null, 'lost', jsonb_build_object('name', 'LeaseLost', 'message', p_why),
        null, null, true, null, true, null, null, null)::jobforge.run_end
      from unnest(p_job_ids) with ordinality i(id, ord)), p_now);
  end if;
  return cardinality(p_job_ids);
end $$;

-- Ends queued jobs whose expires_at has passed. Never waits.
create or replace function jobforge.expire(p_now timestamptz, p_limit integer) returns integer
language plpgsql as $$
begin
  return jobforge.end_queued(array(
    select j.id
    from jobforge.jobs j
    where j.expires_at <= p_now and j.expires_at is not null and j.state <> 'running'
    order by j.expires_at
    limit p_limit
    for update skip locked), 'expired', p_now);
end $$;

-- Settles the requests to cancel that no run's end answered, because it came between the look and the request: a job
-- that is queued again is canceled, a job that has ended needs nothing. Never waits.
create or replace function jobforge.answer_cancels(p_now timestamptz, p_limit integer) returns integer
language plpgsql as $$
declare
  v_ids uuid[];
begin
  if not exists (select from jobforge.cancel_requests) then
    return 0;
  end if;
  -- From the requests to their jobs, in a way that no planner turns round: there may be a million jobs.
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
  return jobforge.end_queued(v_ids, 'canceled', p_now);
end $$;

-- Enqueues the children that waited for somebody else's key. Gives up after ten that still would wait.
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

-- Forgets what nobody needs any more: keys of jobs without history after a day, watches that ran out, idle marks and
-- workers of processes long gone, token buckets that are full again, audit rows after a year. Never waits.
create or replace function jobforge.forget(p_now timestamptz, p_limit integer) returns integer
language plpgsql as $$
declare
  v_count integer := 0;
  v_step integer;
begin
  delete from jobforge.job_keys k
  where k.ctid = any (array(
    select f.ctid from jobforge.job_keys f
    where f.forget_at <= p_now and f.forget_at is not null
      and (select j.id from jobforge.jobs j where j.id = f.job_id) is null
    order by f.forget_at limit p_limit for update skip locked));
  get diagnostics v_step = row_count;
  v_count := v_count + v_step;
  delete from jobforge.watches w
  where w.job_id = any (array(
    select f.job_id from jobforge.watches f where f.until <= p_now limit p_limit for update skip locked));
  get diagnostics v_step = row_count;
  v_count := v_count + v_step;
  delete from jobforge.idle_workers i
  where i.since < p_now - interval '2 minutes'
    and not exists (select from jobforge.workers w where w.id = i.worker_id and w.seen_at > p_now - interval '1 minute');
  get diagnostics v_step = row_count;
  v_count := v_count + v_step;
  delete from jobforge.workers w
  where (w.id, w.scope) in (
    select f.id, f.scope from jobforge.workers f
    where f.seen_at < p_now - interval '1 day'
    limit p_limit for update skip locked);
  get diagnostics v_step = row_count;
  v_count := v_count + v_step;
  delete from jobforge.limit_rates r
  where r.bucket = any (array(
    select f.bucket from jobforge.limit_rates f
    where f.empty_until < p_now - interval '1 hour'
    order by f.empty_until limit p_limit for update skip locked));
  get diagnostics v_step = row_count;
  v_count := v_count + v_step;
  delete from jobforge.audit_log a
  where a.id = any (array(
    select f.id from (select o.id, o.at from jobforge.audit_log o order by o.id limit p_limit) f
    where f.at < p_now - interval '1 year'));
  get diagnostics v_step = row_count;
  return v_count + v_step;
end $$;

-- Whether it is time for a task of maintenance (p_every null: always), and nobody else is at it. The caller's transaction
-- holds the task then.
create or replace function jobforge.begin_task(p_task text, p_now timestamptz, p_every interval) returns boolean
language plpgsql as $$
begin
  -- A plain read first: most calls come too early, and must not write.
  if not exists (
    select from jobforge.maintenance m
    where m.task = p_task and (p_every is null or p_now >= m.ran_at + p_every or p_now < m.ran_at - p_every)
  ) then
    return false;
  end if;
  perform from jobforge.maintenance m where m.task = p_task for update skip locked;
  if not found then
    return false;
  end if;
  update jobforge.maintenance set ran_at = p_now where task = p_task;
  return true;
end $$;

-- What keeps work flowing: lost leases, expired jobs, cancels and children that fell between two calls. At most every five
-- seconds unless forced. True when something went back into the queue or left it.
create or replace function jobforge.upkeep(p_now timestamptz, p_limit integer, p_force boolean) returns boolean
language plpgsql as $$
begin
  if not jobforge.begin_task('upkeep', p_now, case when not p_force then interval '5 seconds' end) then
    return false;
  end if;
  return jobforge.answer_cancels(p_now, p_limit) + jobforge.reclaim(p_now, p_limit) + jobforge.expire(p_now, p_limit)
    + jobforge.empty_outbox(p_now, p_limit) + jobforge.fold_ends(p_now, p_limit) > 0;
end $$;
