-- Finishes queued jobs without a run, because they were canceled or have expired (p_reason). Returns how many. The
-- caller holds their locks.
create or replace function jobforge.finish_queued(p_job_ids uuid[], p_reason text, p_now timestamptz) returns integer
language plpgsql as $$
declare
  v_finished jobforge.run_outcome[];
  v_without_history uuid[];
  v_deduped jobforge.live_key[];
  v_scheduled jobforge.schedule_end[];
  v_steps jobforge.step_end[];
  v_parents uuid[];
  v_slots jobforge.slot[];
  v_webhooks boolean := jobforge.has_webhooks();
  v_ended jobforge.ended_job[];
begin
  if cardinality(p_job_ids) = 0 then
    return 0;
  end if;
  with taken as (
    -- The rows, removed from the queue.
    delete from jobforge.queue j
    where j.id = any (p_job_ids)
    returning j.*
  ), settled_requests as (
    -- Their cancel requests, which this call settles.
    delete from jobforge.cancel_requests c
    using taken t
    where c.job_id = t.id
  ), judged as materialized (
    -- The rows with what their policies say about the archive.
    select t.*, p.keep_history or t.keep_days is not null as keep_history,
      jobforge.shelf_for(coalesce(t.keep_days, p.retention_days)) as shelf
    from taken t
    cross join lateral jobforge.policy_of(t.type) p
  ), archived as (
    -- The jobs whose type keeps history.
    insert into jobforge.archive (
      id, seq, tenant_id, type, status, reason, rank, attempts, uncounted, failures, max_attempts, budget, run_at,
      created_at, started_at, finished_at, expires_at, payload, idempotency_key, dedupe_key, concurrency_key, subject,
      tags, traceparent, progress, error, cost_cents, keep_days, schedule_id, scheduled_for, step_id)
    select
      t.id, t.seq, t.tenant_id, t.type, 'canceled', p_reason, t.rank, t.attempts, t.uncounted, t.failures,
      t.max_attempts, t.budget, t.run_at, t.created_at, t.started_at, p_now, t.expires_at, t.payload, t.idempotency_key,
      t.dedupe_key, t.concurrency_key, t.subject, t.tags, t.traceparent, t.progress, t.error, t.cost_cents, t.shelf,
      t.schedule_id, t.scheduled_for, t.step_id
    from judged t
    where t.keep_history
  )
  select
    array_agg(row(null, t.id, t.attempts, 'ok', 'canceled', t.run_at, t.tenant_id, t.type)::jobforge.run_outcome),
    array_agg(t.id) filter (where not t.keep_history),
    array_agg(row(t.tenant_id, t.type, t.dedupe_key)::jobforge.live_key) filter (where t.dedupe_key is not null),
    array_agg(
      row(t.schedule_id, t.tenant_id, t.scheduled_for, p_now, 'canceled', null, null, false)::jobforge.schedule_end)
      filter (where t.schedule_id is not null),
    array_agg(row(t.step_id, 'canceled', p_reason, null, t.error, t.cost_cents)::jobforge.step_end)
      filter (where t.step_id is not null),
    array_agg(coalesce(t.step_id, t.id)) filter (where t.uncounted > 0),
    array_agg(row(t.type, t.tenant_id, t.concurrency_key)::jobforge.slot),
    array_agg(row(t.id, t.tenant_id, t.type, 'canceled', null, p_reason, t.attempts, t.subject, t.tags, t.created_at,
      t.started_at, t.error, t.payload, null, null, t.schedule_id, t.traceparent)::jobforge.ended_job)
      filter (where v_webhooks)
  into v_finished, v_without_history, v_deduped, v_scheduled, v_steps, v_parents, v_slots, v_ended
  from judged t;
  perform jobforge.leave_slots(v_slots, p_now);
  if v_deduped is not null then
    perform jobforge.free_dedupe_keys(v_deduped);
  end if;
  if v_ended is not null then
    perform jobforge.emit_events(v_ended, p_now);
  end if;
  if v_without_history is not null then
    perform jobforge.keep_only_keys(v_without_history, p_now);
  end if;
  if v_scheduled is not null then
    perform jobforge.end_scheduled_runs(v_scheduled, p_now);
  end if;
  perform jobforge.note_all_pending(array(select o.tenant_id from unnest(v_finished) o), -1);
  if v_steps is not null then
    perform jobforge.end_steps(v_steps, p_now);
  end if;
  if v_parents is not null then
    perform jobforge.cancel_children(v_parents, p_now);
  end if;
  perform jobforge.announce(v_finished, p_now);
  return coalesce(cardinality(v_finished), 0);
end $$;
