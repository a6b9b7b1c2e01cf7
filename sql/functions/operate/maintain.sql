-- Maintains the tables: makes partitions ahead of time, retires whole leaves, deletes leftovers. Each task has its
-- own interval unless forced, and fails alone. Returns what it did, without the tasks that failed.
create or replace function jobforge.maintain_tables(p_now timestamptz, p_limit integer, p_force boolean) returns jsonb
language plpgsql as $$
declare
  v_done jsonb := '{}';
  v_made integer;
  v_retired integer;
begin
  if jobforge.begin_task('forget', p_now, case when not p_force then interval '30 seconds' end) then
    v_done := v_done || jsonb_build_object('forgotten',
      jobforge.run_steps('forget', '{forget, forget_workflows}', p_now, p_limit));
  end if;
  -- Claims of workers that are bound to a tenant leave this to others.
  if (exists (select from jobforge.unpark_requests) or exists (select from jobforge.limits))
    and jobforge.begin_task('limits', p_now, case when not p_force then interval '5 seconds' end)
  then
    perform jobforge.run_steps('limits', '{unpark_due, count_early_runs}', p_now, p_limit);
  end if;
  if exists (select from jobforge.tenants)
    and jobforge.begin_task('quota', p_now, case when not p_force then interval '5 seconds' end)
  then
    perform jobforge.run_steps('quota', '{count_pending}', p_now, p_limit);
  end if;
  if jobforge.begin_task('usage', p_now, case when not p_force then interval '10 seconds' end) then
    v_done := v_done || jsonb_build_object('metered', jobforge.run_steps('usage', '{roll_up_usage}', p_now, p_limit));
  end if;
  if jobforge.begin_task('samples', p_now, case when not p_force then interval '1 minute' end) then
    perform jobforge.run_steps('samples', '{sample_depth}', p_now, p_limit);
  end if;
  if jobforge.begin_task('leaves', p_now, case when not p_force then jobforge.leaves_interval() end) then
    v_made := jobforge.run_steps('leaves', '{maintain_next_leaves}', p_now, p_limit);
    v_done := v_done || jsonb_build_object('leaves', v_made);
    if v_made > 0 then
      -- There may be more work, and the next call continues. Attached partitions stay locked until this transaction
      -- ends, so end soon.
      perform jobforge.repeat_task('leaves');
      return jsonb_strip_nulls(v_done);
    end if;
  end if;
  -- This comes last, because dropped tables stay locked until the end of the transaction.
  if jobforge.begin_task('retire', p_now, case when not p_force then interval '30 seconds' end) then
    v_retired := jobforge.run_steps('retire', '{empty_default_leaves, retire_leaves}', p_now, p_limit);
    v_done := v_done || jsonb_build_object('retired', v_retired);
    if v_retired > 0 then
      -- There is more work. The next heartbeat continues.
      perform jobforge.repeat_task('retire');
    end if;
  end if;
  return jsonb_strip_nulls(v_done);
end $$;

-- Returns how often leaves are made: soon after a policy has asked for a shelf that does not exist yet. A failure to
-- find out is not the caller's: the task itself will fail and record it.
create or replace function jobforge.leaves_interval() returns interval
language plpgsql stable as $$
begin
  return case when jobforge.lacks_shelf() then interval '10 seconds' else interval '10 minutes' end;
exception when others then
  return interval '10 minutes';
end $$;

-- Does a bounded amount of maintenance: promotes due jobs, reclaims lost leases, cancels expired jobs, makes and
-- drops partitions, cleans up. Workers do this themselves with their heartbeats. Call it from a cron job where there
-- may be no worker. Any number of callers may run at once; each skips what another one is doing. A task that fails
-- stops no other. Returns what it did; failed: {task: error} has the tasks whose last run failed, if there are any.
-- Who: workers and operators that are bound to no tenant, because it holds what every tenant needs. Never waits longer
-- than 50 ms.
create or replace function :"api_schema".jobforge_maintain(p_limit integer default 1000) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_now timestamptz := jobforge.now();
  v_waiting text[] := types_with('waiting');
  v_promoted integer;
  v_flowing boolean;
  v_done jsonb;
begin
  if bound_tenant() is not null then
    perform fail_forbidden('Permission denied: maintenance concerns every tenant',
      'Workers that are bound to no tenant do maintenance. Run one, or call this as a role that is bound to none.');
  end if;
  if p_limit is null or p_limit not between 1 and 100000 then
    perform fail_argument('limit', 'limit must be between 1 and 100000');
  end if;
  perform require_read_committed();
  v_promoted := (promote(v_waiting, null, v_now, greatest(1, p_limit / greatest(1, cardinality(v_waiting))))).promoted;
  v_flowing := maintain_jobs(v_now, p_limit, true);
  perform set_ddl_lock_timeout(v_flowing or v_promoted > 0);
  v_done := maintain_tables(v_now, p_limit, true);
  return jsonb_build_object('promoted', v_promoted, 'flowing', v_flowing) || v_done || jsonb_strip_nulls(
    jsonb_build_object('failed', (select jsonb_object_agg(m.task, m.error) from maintenance m where m.failures > 0)));
end $$;
