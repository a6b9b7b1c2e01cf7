-- Returns the summary of a job that is live (p_finished_at null) or finished at exactly that time; null if it has gone.
create or replace function jobforge.summary_at(p_job_id uuid, p_finished_at timestamptz, p_now timestamptz)
returns jsonb
language sql stable as $$
  select jsonb_build_object(
    'id', j.id, 'tenant_id', j.tenant_id, 'tenant_label', jobforge.label_of(j.tenant_id), 'type', j.type,
    'status', j.status, 'phase', j.phase, 'parked', j.parked, 'priority', -j.rank, 'attempts', j.attempts,
    'uncounted', j.uncounted, 'max_attempts', j.max_attempts, 'run_at', j.run_at, 'created_at', j.created_at, 'started_at', j.started_at,
    'finished_at', j.finished_at,
    'duration_ms',
      jobforge.ms_between(j.started_at, coalesce(j.finished_at, case j.status when 'running' then p_now end)),
    'worker', j.worker_id, 'subject', j.subject, 'tags', j.tags, 'idempotency_key', j.idempotency_key,
    'dedupe_key', j.dedupe_key, 'concurrency_key', j.concurrency_key, 'schedule_id', j.schedule_id,
    'schedule_key', (select s.key from jobforge.schedules s where s.id = j.schedule_id),
    'trace_id', case when j.attempts > 0 then jobforge.trace_id(j.id, j.attempts) end,
    'cancel_requested', j.cancel_requested,
    'last_error', left(coalesce(j.error ->> 'fullMessage', j.error ->> 'message'), 300),
    'reason', j.reason, 'cost_cents', j.cost_cents, 'expires_at', j.expires_at,
    'payload_bytes', coalesce((select p.bytes from jobforge.payloads p where p.job_id = j.id),
      octet_length(j.payload::text)))
  from (
    select l.id, l.tenant_id, l.type::text, case l.state when 'running' then 'running' else 'queued' end as status,
      case when l.state = 'running' then null when l.run_at <= p_now then 'due' when l.attempts > 0 then 'retrying'
        else 'scheduled' end as phase,
      l.state = 'parked' as parked, l.rank, l.attempts, l.uncounted, l.max_attempts, l.run_at::timestamptz, l.created_at,
      l.started_at, null::timestamptz as finished_at, l.worker_id::text, l.subject::text, l.tags::text[],
      l.idempotency_key::text, l.dedupe_key::text, l.concurrency_key::text, l.schedule_id,
      exists (select from jobforge.cancel_requests c where c.job_id = l.id) as cancel_requested, l.error,
      null::text as reason, l.cost_cents, l.expires_at::timestamptz, l.payload
    from jobforge.live_rows l
    where l.id = p_job_id and p_finished_at is null
    union all
    select f.id, f.tenant_id, f.type::text, f.status::text, null, false, f.rank, f.attempts::integer, f.uncounted, f.max_attempts,
      f.run_at::timestamptz, f.created_at, f.started_at, f.finished_at, f.worker_id::text, f.subject::text,
      f.tags::text[], f.idempotency_key::text, f.dedupe_key::text, f.concurrency_key::text, f.schedule_id,
      f.status = 'canceled' and f.last_run is not null, f.error, f.reason::text, f.cost_cents,
      f.expires_at::timestamptz, f.payload
    from jobforge.archive f
    where f.id = p_job_id and f.finished_at = p_finished_at
  ) j
$$;
