-- Starts runs: moves rows of the queue that this transaction has locked to the runs, under the worker. Returns their
-- places (ctid) there. A locked row does not move, so its place is as good as its id and needs no index. The settings
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
  with taken as (
    delete from jobforge.queue q
    where q.ctid = any (p_places)
    returning q.*
  ), started as (
    insert into jobforge.runs (
      id, seq, tenant_id, type, rank, attempts, uncounted, failures, losses, max_attempts, budget, run_at, created_at,
      updated_at, expires_at, started_at, worker_id, payload, idempotency_key, dedupe_key, concurrency_key, subject,
      tags, traceparent, progress, error, cost_cents, schedule_id, scheduled_for, step_id, keep_days,
      counted, bound)
    select
      t.id, t.seq, t.tenant_id, t.type, t.rank, t.attempts + 1, t.uncounted, t.failures, t.losses, t.max_attempts,
      t.budget, t.run_at, t.created_at, p_now, t.expires_at, p_now, p_worker_id, t.payload, t.idempotency_key,
      t.dedupe_key, t.concurrency_key, t.subject, t.tags, t.traceparent, t.progress, t.error, t.cost_cents,
      t.schedule_id, t.scheduled_for, t.step_id, t.keep_days, p_counted, v_bound
    from taken t
    returning ctid
  )
  select array_agg(s.ctid) into v_started from started s;
  return coalesce(v_started, '{}');
end $$;
