-- Runs a job at another time (null: now). A queued one is moved; a failed or dead one comes back with a fresh budget:
-- p_max_attempts more executions, else as many as it was given at first. Answers {id, status, run_at, max_attempts}.
-- Who: the tenant itself, operators. JF006 when there is no such job, it runs, succeeded or was canceled, or another live
-- job has taken its dedupe key.
create or replace function :"api_schema".jobforge_reschedule_job(
  p_job_id uuid,
  p_tenant_id uuid,
  p_run_at timestamptz default null,
  p_max_attempts integer default null
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
declare
  v_now timestamptz := now();
  v_run_at timestamptz := coalesce(p_run_at, v_now);
  v_max_attempts integer;
begin
  perform require_tenant(p_tenant_id);
  if not isfinite(p_run_at) then
    perform fail_argument('run_at', 'run_at must be a finite time');
  elsif p_max_attempts not between 1 and 100000 then
    perform fail_argument('max_attempts', 'max_attempts must be between 1 and 100000');
  end if;
  if lock_queued(p_job_id, p_tenant_id) then
    v_max_attempts := postpone(p_job_id, v_run_at, p_max_attempts, v_now);
  else
    v_max_attempts := revive(p_job_id, p_tenant_id, v_run_at, p_max_attempts, v_now);
  end if;
  if v_max_attempts is null then
    perform fail('JF006', 'Job not found or cannot be rescheduled', 'not_reschedulable', 'job_id',
      'Only queued, failed and dead jobs of the tenant can be rescheduled, and only while no other live job has the same dedupe key.');
  end if;
  perform audit(p_tenant_id, 'JOB_RESCHEDULED', p_job_id, jsonb_build_object('run_at', v_run_at));
  return jsonb_build_object('id', p_job_id, 'status', 'queued', 'run_at', v_run_at, 'max_attempts', v_max_attempts);
end $$;

-- Moves a queued job that the caller has locked to another time. Answers its max_attempts.
create or replace function jobforge.postpone(
  p_job_id uuid, p_run_at timestamptz, p_max_attempts integer, p_now timestamptz
) returns integer
language plpgsql as $$
declare
  v_job jobforge.jobs;
begin
  update jobforge.jobs j
  set run_at = p_run_at,
    state = case when p_run_at <= p_now then 'ready' else 'waiting' end,
    max_attempts = coalesce(p_max_attempts, j.max_attempts),
    budget = coalesce(p_max_attempts, j.budget),
    updated_at = p_now
  where j.id = p_job_id
  returning * into v_job;
  if v_job.attempts - v_job.uncounted >= v_job.max_attempts then
    perform jobforge.fail_argument('max_attempts', format('max_attempts must be over the %s executions so far',
      v_job.attempts - v_job.uncounted));
  end if;
  return v_job.max_attempts;
end $$;

-- Brings a failed or dead job back from the archive with a fresh budget. Its last attempt, which was part of the archived
-- row, becomes a row of its own. Answers its max_attempts, or null when there is nothing to bring back.
create or replace function jobforge.revive(
  p_job_id uuid, p_tenant_id uuid, p_run_at timestamptz, p_max_attempts integer, p_now timestamptz
) returns integer
language plpgsql as $$
declare
  v_max_attempts integer;
begin
  with taken as (
    delete from jobforge.archive f
    where f.id = p_job_id
      and f.tenant_id = p_tenant_id
      and f.status in ('failed', 'dead')
      and f.finished_at >= jobforge.time_of(p_job_id) - interval '1 day'
    returning f.*
  ), past as (
    insert into jobforge.attempts (job_id, attempt_no, tenant_id, status, worker_id, started_at, finished_at, error)
    select t.id, t.attempts, t.tenant_id, t.last_run, t.worker_id, t.started_at, t.finished_at, t.error
    from taken t
    where t.last_run is not null
  )
  insert into jobforge.jobs (
    id, seq, tenant_id, type, state, rank, attempts, uncounted, max_attempts, budget, run_at, created_at, updated_at,
    expires_at, started_at, payload, idempotency_key, dedupe_key, concurrency_key, subject, tags, traceparent, progress,
    error, cost_cents)
  overriding system value
  select
    t.id, t.seq, t.tenant_id, t.type, case when p_run_at <= p_now then 'ready' else 'waiting' end, t.rank, t.attempts,
    t.uncounted, t.attempts - t.uncounted + coalesce(p_max_attempts, t.budget), coalesce(p_max_attempts, t.budget),
    p_run_at, t.created_at, p_now, case when t.expires_at > p_run_at then t.expires_at end, t.started_at, t.payload,
    t.idempotency_key, t.dedupe_key, t.concurrency_key, t.subject, t.tags, t.traceparent, t.progress, t.error, t.cost_cents
  from taken t
  returning max_attempts into v_max_attempts;
  return v_max_attempts;
exception when unique_violation then
  return null;
end $$;
