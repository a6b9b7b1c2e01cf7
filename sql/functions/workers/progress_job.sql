-- Stores the progress that a run reports, and counts as a heartbeat of the run. Returns {cancel_requested}.
-- Who: workers, operators. JF003 when the worker does not hold the job (or not in this attempt), JF008 over 64 kB,
-- JF002 for more than 4,000 levels and for wide numbers. Locks the run.
create or replace function :"api_schema".jobforge_progress_job(
  p_job_id uuid,
  p_worker_id text,
  p_progress jsonb,
  p_attempt integer default null
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_bytes integer := text_bytes(p_progress);
begin
  if v_bytes > 65536 then
    perform fail('JF008', 'Payload too large: progress is over 64 kB', 'payload_too_large', 'progress',
      'Store it elsewhere and keep a reference.');
  elsif v_bytes < 0 then
    perform require_printable(p_progress, 'progress');
  end if;
  return heartbeat_run(p_job_id, p_worker_id, p_attempt, coalesce(p_progress, 'null'));
end $$;
