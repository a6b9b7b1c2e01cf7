-- Ends the runs whose lease is lost: their jobs go back into the queue, or are finished. A lease is lost when
--   the worker heartbeats as a worker and was silent for the worker timeout (1 minute), or
--   the worker never has, and the run had no heartbeat for the lease of unregistered workers (5 minutes), or
--   the worker is alive, but the timeout of the type passed more than a minute ago: the handler hangs. For a run of a
--   schedule it is six times the timeout, because its worker waits for the handler.
-- lease_ms of the type's policy replaces the first two times. Visits up to workers_per_pass() workers that hold jobs,
-- one after the other, and stops after p_limit jobs; the next call goes on there. So thousands of worker ids do not
-- stall the worker that does maintenance. Returns how many runs it ended. Skips rows that another transaction has
-- locked; never waits. The caller holds the task "jobs".
create or replace function jobforge.reclaim(p_now timestamptz, p_limit integer) returns integer
language plpgsql as $$
declare
  v_start constant text := (select m.place from jobforge.maintenance m where m.task = 'jobs');
  v_worker text := v_start;
  v_visited text := v_start;
  v_wrapped boolean := v_start = '';
  v_visits integer := 0;
  v_lost uuid[];
  v_count integer := 0;
  -- No lease expires sooner after its start, so younger runs are not read.
  v_shortest_lease interval := least(
    jobforge.worker_timeout(), (select min(p.lease_ms) from jobforge.policies p) * interval '1 millisecond');
begin
  while v_count < p_limit and v_visits < jobforge.workers_per_pass() loop
    select j.worker_id into v_worker
    from jobforge.runs j
    where j.worker_id > v_visited
    order by j.worker_id
    limit 1;
    if not found and not v_wrapped then
      v_wrapped := true;
      v_visited := '';
      continue;
    end if;
    -- All workers were visited, so the next pass starts at the first.
    if not found or (v_wrapped and v_start <> '' and v_worker > v_start) then
      v_visited := '';
      exit;
    end if;

    v_lost := array(
      select j.id
      from jobforge.runs j
      cross join lateral (
        select max(w.seen_at) as seen_at
        from jobforge.workers w
        -- A worker that is bound to the tenant keeps only runs alive that a bound role has claimed.
        where w.id = j.worker_id
          and w.scope in (jobforge.all_tenants(), case when j.bound then j.tenant_id else jobforge.all_tenants() end)
      ) w
      cross join lateral jobforge.policy_of(j.type) p
      where j.worker_id = v_worker
        and j.started_at < p_now - v_shortest_lease
        and (
          case
            when w.seen_at is null then coalesce(j.heartbeat_at, j.started_at)
            else greatest(j.started_at, w.seen_at)
          end
            + coalesce(p.lease_ms * interval '1 millisecond',
              case when w.seen_at is null then jobforge.unregistered_lease() else jobforge.worker_timeout() end) < p_now
          or j.started_at + jobforge.timeout_grace() + p.timeout_ms * interval '1 millisecond'
            * case when j.schedule_id is null then 1 else jobforge.overrun_factor() end < p_now)
      order by j.id
      limit p_limit - v_count
      for update of j skip locked);
    v_count := v_count
      + jobforge.end_unheld(v_worker, v_lost, format('Worker %s sent no heartbeat', v_worker), p_now);
    v_visits := v_visits + 1;
    -- A worker that may have more lost runs than the limit is visited again.
    if v_count < p_limit then
      v_visited := v_worker;
    end if;
  end loop;
  if v_visited <> v_start then
    update jobforge.maintenance m set place = v_visited where m.task = 'jobs';
  end if;
  return v_count;
end $$;

-- Ends runs that a worker does not hold. Runs that were handed to it and that it has not received go back without
-- costing an attempt; the others are lost. Returns how many. The caller holds their locks.
create or replace function jobforge.end_unheld(
  p_worker_id text, p_job_ids uuid[], p_why text, p_now timestamptz
) returns integer
language plpgsql as $$
declare
  v_handed uuid[];
begin
  if cardinality(p_job_ids) > 0 then
    v_handed := array(
      select j.id
      from jobforge.runs j
      where j.id = any (p_job_ids) and j.handed and j.heartbeat_at is null);
    perform jobforge.return_handed(p_worker_id, v_handed, p_now);
    perform jobforge.lose_runs(
      p_worker_id, array(select i from unnest(p_job_ids) i where i <> all (v_handed)), p_why, p_now);
  end if;
  return cardinality(p_job_ids);
end $$;

-- Ends the current runs of a worker's jobs as lost. Returns how many. The caller holds their locks.
create or replace function jobforge.lose_runs(p_worker_id text, p_job_ids uuid[], p_why text, p_now timestamptz)
returns integer
language plpgsql as $$
begin
  if cardinality(p_job_ids) > 0 then
    perform jobforge.end_runs(p_worker_id, null, array(
      select jobforge.run_end(p_ord => i.ord::integer, p_id => i.id, p_status => 'lost',
        p_error => jsonb_build_object('name', 'LeaseLost', 'message', p_why))
      from unnest(p_job_ids) with ordinality i(id, ord)), p_now);
  end if;
  return cardinality(p_job_ids);
end $$;
