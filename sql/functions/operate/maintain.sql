-- Maintains the tables: makes partitions ahead of time, retires whole leaves, deletes leftovers. Each task has its
-- own interval unless forced. Returns what it did.
create or replace function jobforge.maintain_tables(p_now timestamptz, p_limit integer, p_force boolean) returns jsonb
language plpgsql as $$
declare
  v_done jsonb := '{}';
  v_usage record;
  v_made integer;
  v_retired integer;
begin
  if jobforge.begin_task('forget', p_now, case when not p_force then interval '30 seconds' end) then
    v_done := v_done || jsonb_build_object('forgotten', jobforge.forget(p_now, p_limit));
  end if;
  if exists (select from jobforge.tenants)
    and jobforge.begin_task('quota', p_now, case when not p_force then interval '5 seconds' end)
  then
    perform jobforge.count_pending(p_now, p_limit);
  end if;
  if jobforge.begin_task('usage', p_now, case when not p_force then interval '10 seconds' end) then
    v_usage := jobforge.roll_up_usage(p_now);
    v_done := v_done || jsonb_build_object('metered', v_usage.merged);
    if v_usage.unfinished then
      update jobforge.maintenance set ran_at = '-infinity' where task = 'usage';
    end if;
  end if;
  if jobforge.begin_task('leaves', p_now,
    case when not p_force then case when jobforge.lacks_shelf() then interval '10 seconds'
      else interval '10 minutes' end end) then
    v_made := jobforge.maintain_next_leaves(p_now);
    v_done := v_done || jsonb_build_object('leaves', v_made);
    if v_made > 0 then
      -- There may be more work, and the next call continues. Attached partitions stay locked until this transaction
      -- ends, so end soon.
      update jobforge.maintenance set ran_at = '-infinity' where task = 'leaves';
      return v_done;
    end if;
  end if;
  -- This comes last, because dropped tables stay locked until the end of the transaction.
  if jobforge.begin_task('retire', p_now, case when not p_force then interval '30 seconds' end) then
    v_retired := jobforge.empty_default_leaves(p_now, p_limit) + jobforge.retire_leaves(p_now, p_limit);
    v_done := v_done || jsonb_build_object('retired', v_retired);
    if v_retired > 0 then
      -- There is more work. The next heartbeat continues.
      update jobforge.maintenance set ran_at = '-infinity' where task = 'retire';
    end if;
  end if;
  return v_done;
end $$;

-- Does a bounded amount of maintenance: promotes due jobs, reclaims lost leases, cancels expired jobs, makes and
-- drops partitions, cleans up. Workers do this themselves with their heartbeats. Call it from a cron job where there
-- may be no worker. Any number of callers may run at once; each skips what another one is doing. Returns what it did.
-- Who: workers, operators. Never waits longer than 50 ms.
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
begin
  if p_limit is null or p_limit not between 1 and 100000 then
    perform fail_argument('limit', 'limit must be between 1 and 100000');
  end if;
  perform require_read_committed();
  v_promoted := (promote(v_waiting, v_now, greatest(1, p_limit / greatest(1, cardinality(v_waiting))))).promoted;
  -- Where all workers are bound to tenants, no claim unparks what a changed limit allows.
  perform unpark_due(v_now);
  v_flowing := maintain_jobs(v_now, p_limit, true);
  perform set_ddl_lock_timeout(v_flowing or v_promoted > 0);
  return jsonb_build_object('promoted', v_promoted, 'flowing', v_flowing) || maintain_tables(v_now, p_limit, true);
end $$;
