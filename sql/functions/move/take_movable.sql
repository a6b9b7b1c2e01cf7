-- Takes up to p_limit queued jobs of the types out of the queue and makes them moves. Idempotency keys stay for their
-- retention, so an enqueue with the same key finds the job that left. Rows that another transaction holds are left for
-- the next call. These stay, because only this database has what they need: runs of schedules, steps of workflows, jobs
-- with a concurrency key, jobs whose durable steps are stored or that have received signals, jobs with a notice for a
-- webhook, and jobs with a payload or a result in the artifact store.
create or replace function jobforge.take_movable(p_types text[], p_limit integer, p_now timestamptz) returns void
language plpgsql as $$
declare
  v_ids uuid[];
  v_tenants uuid[];
  v_slots jobforge.slot[];
  v_deduped jobforge.live_key[];
begin
  with chosen as (
    select j.id
    from jobforge.queue j
    where j.type = any (p_types)
      and num_nonnulls(j.schedule_id, j.concurrency_key, j.step_id) = 0
      and j.state <> 'suspended'
      and not exists (select from jobforge.checkpoints c where c.job_id = j.id)
      and not exists (select from jobforge.signals g where g.target_id = j.id)
      and not exists (select from jobforge.job_notices n where n.job_id = j.id and n.live)
      and not exists (select from jobforge.artifacts a where a.job_id = j.id)
    limit p_limit
    for update skip locked
  ), taken as (
    delete from jobforge.queue j
    using chosen c
    where j.id = c.id
    returning j.*
  ), moved as (
    insert into jobforge.moves (id, tenant_id, type, step, document)
    select t.id, t.tenant_id, t.type, 'taken',
      jsonb_strip_nulls(jsonb_build_object(
        'id', t.id, 'tenant_id', t.tenant_id, 'type', t.type, 'priority', -t.rank, 'attempts', t.attempts,
        'uncounted', t.uncounted, 'failures', t.failures, 'losses', t.losses, 'max_attempts', t.max_attempts, 'run_at', t.run_at,
        'created_at', t.created_at, 'expires_at', t.expires_at, 'idempotency_key', t.idempotency_key,
        'dedupe_key', t.dedupe_key, 'subject', t.subject, 'tags', to_jsonb(t.tags), 'traceparent', t.traceparent,
        'progress', t.progress, 'error', t.error, 'cost_cents', t.cost_cents))
      || jsonb_build_object('payload', coalesce(t.payload, p.payload::jsonb))
    from taken t
    left join jobforge.payloads p on p.job_id = t.id
  )
  select array_agg(t.id), array_agg(t.tenant_id),
    array_agg(row(t.type, t.tenant_id, t.concurrency_key)::jobforge.slot),
    array_agg(row(t.tenant_id, t.type, t.dedupe_key)::jobforge.live_key) filter (where t.dedupe_key is not null)
  into v_ids, v_tenants, v_slots, v_deduped
  from taken t;
  if v_ids is null then
    return;
  end if;
  delete from jobforge.cancel_requests c where c.job_id = any (v_ids);
  if v_deduped is not null then
    perform jobforge.free_dedupe_keys(v_deduped);
  end if;
  perform jobforge.leave_slots(v_slots, p_now);
  perform jobforge.keep_only_keys(v_ids, p_now);
  perform jobforge.note_all_pending(v_tenants, -1);
end $$;
