-- Starts runs: marks rows that this transaction has locked as running under the worker, and returns the places (ctid)
-- of their new versions. A locked row does not move, so its place is as good as its id and needs no index. The settings
-- allow no other plan. p_counted: limits exist, so the runs must be in the indexes by which limits count.
create or replace function jobforge.start_runs(
  p_places tid[], p_worker_id text, p_now timestamptz, p_counted boolean
) returns tid[]
language plpgsql
set enable_indexscan = off
set enable_indexonlyscan = off as $$
declare
  v_bound constant boolean := jobforge.bound_tenant() is not null;
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
      counted = p_counted,
      bound = v_bound
    where j.ctid = any (p_places)
    returning j.ctid
  )
  select array_agg(s.ctid) into v_started from started s;
  return coalesce(v_started, '{}');
end $$;
