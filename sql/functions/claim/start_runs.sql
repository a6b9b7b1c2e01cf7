-- Marks rows that this transaction has locked as running under the worker, and answers where they now are. Locked rows stay
-- where they are, so their place is as good as their id and costs no way through an index: there is no other way in here.
-- p_counted: there are limits, and the runs are to be found by what these count.
create or replace function jobforge.start_runs(
  p_picked tid[], p_worker_id text, p_now timestamptz, p_counted boolean
) returns tid[]
language plpgsql
set enable_indexscan = off
set enable_indexonlyscan = off as $$
declare
  v_started tid[];
begin
  with started as (
    update jobforge.jobs j
    set state = 'running',
      worker_id = p_worker_id,
      started_at = p_now,
      heartbeat_at = null,
      attempts = j.attempts + 1,
      updated_at = p_now,
      counted = p_counted
    where j.ctid = any (p_picked)
    returning j.ctid
  )
  select array_agg(s.ctid) into v_started from started s;
  return coalesce(v_started, '{}');
end $$;
