-- Ends one run as succeeded or failed. A failed job is retried after its backoff, until max_attempts makes it dead.
-- With p_retry false it is failed at once; p_retry_at replaces the backoff. A scheduled run is not retried unless its
-- schedule says so: its failure ends the run, and the schedule runs next at p_next_run_at (or p_retry_at). The end of
-- the run, the job's next state, its result and its audit row are one commit. Returns {id, status, run_at}.
-- Who: workers, operators. JF003 when the worker does not hold the job (or not in this attempt), JF004 for another
-- status, JF008 for a result over 1 MiB. Locks the run only; waits for nothing that an application can hold.
create or replace function :"api_schema".jobforge_complete_job(
  p_job_id uuid,
  p_worker_id text,
  p_status text,
  p_error jsonb default null,
  p_result jsonb default null,
  p_artifact_ref text default null,
  p_attempt integer default null,
  p_retry boolean default true,
  p_retry_at timestamptz default null,
  p_cost_cents integer default null,
  p_next_run_at timestamptz default null
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
declare
  v_end run_end := run_end(
    p_id => p_job_id,
    p_attempt => p_attempt,
    p_status => p_status,
    p_error => p_error,
    p_result => p_result,
    p_artifact_ref => p_artifact_ref,
    p_retry => p_retry,
    p_run_at => case p_status when 'failed' then p_retry_at end,
    p_cost_cents => p_cost_cents,
    p_next_run_at => p_next_run_at);
begin
  if p_status is null or p_status not in ('succeeded', 'failed') then
    perform fail('JF004', 'Status must be succeeded or failed', 'invalid_status', 'status',
      'Pass failed with p_retry => false to give up without retries. Use jobforge_defer_job to run the job later.');
  elsif not is_time(p_retry_at) then
    perform fail_argument('retry_at', 'retry_at must be a time from the year 1 to 9999');
  elsif not is_time(p_next_run_at) then
    perform fail_argument('next_run_at', 'next_run_at must be a time from the year 1 to 9999');
  elsif p_next_run_at is not null and exists (
    select from live_rows j
    where j.id = p_job_id and j.schedule_id is null and j.tenant_id = coalesce(claimable_tenant(null), j.tenant_id))
  then
    perform fail_argument('next_run_at', 'next_run_at is for runs of a schedule, and this job has none',
      'Use jobforge_enqueue_job with p_run_at for one more run.');
  elsif p_cost_cents < 0 then
    perform fail_argument('cost_cents', 'cost_cents must not be negative');
  elsif is_long_ref(p_artifact_ref) then
    perform fail_argument('artifact_ref', 'artifact_ref is longer than 4096 bytes');
  elsif p_result is not null then
    perform require_result(p_result);
  end if;
  return end_one_run(p_worker_id, v_end);
end $$;

-- Raises if a result cannot be stored: JF008 if it is over 1 MiB, JF002 if it has too many levels or wide numbers.
create or replace function jobforge.require_result(p_result jsonb) returns void
language plpgsql stable as $$
declare
  v_bytes integer := jobforge.text_bytes(p_result);
begin
  if v_bytes > jobforge.document_bytes() then
    perform jobforge.fail('JF008', 'Payload too large: result is over 1 MiB', 'payload_too_large', 'result',
      'Store it elsewhere and pass a reference as artifact_ref.');
  elsif v_bytes < 0 then
    perform jobforge.require_printable(p_result, 'result');
  end if;
end $$;

-- Ends one run and returns {id, status, run_at}. JF003 when the fence refuses it.
create or replace function jobforge.end_one_run(p_worker_id text, p_end jobforge.run_end) returns jsonb
language plpgsql as $$
declare
  v_outcome jobforge.run_outcome;
begin
  v_outcome := (jobforge.end_runs(p_worker_id, jobforge.claimable_tenant(null), array[p_end], jobforge.now()))[1];
  if v_outcome.outcome <> 'ok' then
    perform jobforge.fail_not_held(p_end.id);
  end if;
  return jsonb_build_object('id', p_end.id, 'status', v_outcome.status, 'run_at', v_outcome.run_at);
end $$;
