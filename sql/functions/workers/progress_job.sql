-- Stores the progress that a run reports, and counts as a heartbeat of the run. Returns {cancel_requested}.
-- Who: workers, operators. JF003 when the worker does not hold the job (or not in this attempt), JF008 over 64 kB,
-- JF002 for more than 4,000 levels. Locks the running row.
create or replace function :"api_schema".jobforge_progress_job(
  p_job_id uuid,
  p_worker_id text,
  p_progress jsonb,
  p_attempt integer default null
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
begin
  if octet_length(p_progress::text) > 65536 then
    perform fail('JF008', 'Payload too large: progress is over 64 kB', 'payload_too_large', 'progress',
      'Store it elsewhere and keep a reference.');
  elsif is_too_deep(p_progress, octet_length(p_progress::text)) then
    perform fail_argument('progress', 'progress is nested more than 4000 levels deep');
  end if;
  return heartbeat_run(p_job_id, p_worker_id, p_attempt, coalesce(p_progress, 'null'));
end $$;
