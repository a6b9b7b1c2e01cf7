-- Defers a run: the job waits in the queue until p_run_at and occupies no worker meanwhile. This costs an attempt
-- unless p_counts is false; when max_attempts is reached the job is dead. Returns {id, status, run_at}.
-- Who: workers, operators. JF003 when the worker does not hold the job (or not in this attempt). Locks the run only;
-- waits for nothing that an application can hold.
create or replace function :"api_schema".jobforge_defer_job(
  p_job_id uuid,
  p_worker_id text,
  p_run_at timestamptz,
  p_attempt integer default null,
  p_counts boolean default true
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
begin
  if p_run_at is null or not is_time(p_run_at) then
    perform fail_argument('run_at', 'run_at must be a time from the year 1 to 9999');
  end if;
  return end_one_run(p_worker_id, run_end(
    p_id => p_job_id, p_attempt => p_attempt, p_status => 'deferred', p_run_at => p_run_at, p_counts => p_counts));
end $$;
