-- The shortest path, for a call that ends one run: a success with an id, an attempt and maybe a result, of a job that
-- nothing but the archive and the usage concerns, while no limit, cancel request or watch exists.

-- Ends the run and returns [{id, attempt, outcome, status}] as text, as jobforge.settle does. Returns null, and has
-- changed nothing, if the call or the run is another one. The fence is that of end_runs. What is configured is part of
-- the statement: one statement that asks four small tables takes half as long as two. Locks the run; waits for nothing
-- that an application can hold. A column that is added to the archive must be added here and in end_plain_runs.
create or replace function jobforge.settle_plain_success(
  p_worker_id text, p_tenant_id uuid, p_results jsonb, p_now timestamptz
) returns text
language plpgsql as $$
declare
  v_end jsonb;
  v_id uuid;
  v_attempt integer;
  v_result jsonb;
  v_ended uuid;
begin
  -- 1. Is it one plain success? Read without casts that could raise -------------------------------------------------
  -- A small one, so that nothing in it is nested too deeply.
  if jsonb_array_length(p_results) <> 1 or pg_column_size(p_results) > jobforge.inline_bytes() then
    return null;
  end if;
  v_end := p_results -> 0;
  if jsonb_typeof(v_end) <> 'object' or v_end -> 'status' is distinct from '"succeeded"'
    or v_end - array['id', 'attempt', 'status', 'result'] <> '{}'
    or jsonb_typeof(v_end -> 'id') is distinct from 'string' or jsonb_typeof(v_end -> 'attempt') is distinct from 'number'
    or not (v_end -> 'attempt') between '0' and '999999999'
  then
    return null;
  end if;
  v_id := jobforge.uuid_or_null(v_end ->> 'id');
  v_attempt := case
    when translate(v_end ->> 'attempt', '0123456789', '') = '' then (v_end ->> 'attempt')::integer end;
  v_result := nullif(v_end -> 'result', 'null');
  if v_id is null or v_attempt is null
    or (v_result is not null and not jobforge.text_bytes(v_result) between 0 and jobforge.document_bytes())
  then
    return null;
  end if;

  -- 2. End it ---------------------------------------------------------------------------------------------------------
  with taken as (
    delete from jobforge.runs j
    where j.id = v_id
      and j.attempts = v_attempt
      and j.worker_id is not distinct from p_worker_id
      and (p_tenant_id is null or (j.tenant_id = p_tenant_id and j.bound))
      and j.schedule_id is null
      and j.dedupe_key is null
      and j.step_id is null
      and not exists (select from jobforge.limits)
      and not exists (select from jobforge.key_holds)
      and not exists (select from jobforge.cancel_requests)
      and not exists (select from jobforge.watches)
      and (
        select p.audit_action is null and p.keep_history and p.retention_days is null
        from jobforge.policy_of(j.type) p)
      and not (
        (exists (select from jobforge.webhook_endpoints) or exists (select from jobforge.job_notices n where n.live))
        and jobforge.is_told(j.id, j.tenant_id, j.type, j.tags))
    returning j.*
  ), archived as (
    insert into jobforge.archive (
      id, seq, tenant_id, type, status, reason, last_run, rank, attempts, uncounted, failures, max_attempts, budget,
      run_at, created_at, started_at, finished_at, expires_at, worker_id, payload, idempotency_key, dedupe_key,
      concurrency_key, subject, tags, traceparent, progress, error, result_id, result, artifact_ref, cost_cents,
      keep_days, schedule_id, scheduled_for, step_id, handed)
    select
      t.id, t.seq, t.tenant_id, t.type, 'succeeded', 'done', 'succeeded', t.rank, t.attempts, t.uncounted, t.failures,
      t.max_attempts, t.budget, t.run_at, t.created_at, t.started_at, p_now, t.expires_at, t.worker_id, t.payload,
      t.idempotency_key, t.dedupe_key, t.concurrency_key, t.subject, t.tags, t.traceparent, t.progress, null,
      case when v_result is not null then jobforge.new_id() end, v_result, null, t.cost_cents,
      jobforge.shelf_for(t.keep_days), t.schedule_id, t.scheduled_for, t.step_id, t.handed
    from taken t
  )
  insert into jobforge.usage_deltas (
    tenant_id, type, hour, runs, succeeded, failed, lost, deferred, retries, dead, cost_cents, waits, lengths)
  select t.tenant_id, t.type, date_trunc('hour', p_now, 'UTC'), 1, 1, 0, 0, 0, 0, 0, 0,
    array[jobforge.ms_between(t.run_at, t.started_at)], array[jobforge.ms_between(t.started_at, p_now)]
  from taken t
  returning usage_deltas.tenant_id into v_ended;
  if v_ended is null then
    return null;
  end if;
  -- Read after the job was written: see jobforge.note_pending.
  if exists (select from jobforge.tenants t where t.tenant_id = v_ended and t.max_pending is not null) then
    perform jobforge.note_pending(v_ended, -1);
  end if;
  return concat('[{"id":"', v_id, '","attempt":', v_attempt, ',"outcome":"ok","status":"succeeded"}]');
end $$;
