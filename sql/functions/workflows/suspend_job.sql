-- Suspends a run: its job waits for a time, for a signal or for children, without a worker and at the cost of no
-- attempt. p_wait is {name, until, signals: [names], children: [jobs and workflows], abandon}; a child that is a
-- workflow is {workflow, steps, input, options}. Returns {id, status, run_at}.
-- Who: workers, operators. JF003 when the worker does not hold the job (or not in this attempt); JF002, JF007, JF008
-- and JF014 for the wait. Locks the run only; waits for nothing that an application can hold.
create or replace function :"api_schema".jobforge_suspend_job(
  p_job_id uuid, p_worker_id text, p_wait jsonb, p_attempt integer default null
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_run runs;
begin
  perform require_wait(p_wait, jobforge.now());
  if waits_for_workflows(p_wait) then
    v_run := held_run(p_job_id, p_worker_id, p_attempt);
    if not exists (select from cancel_requests c where c.job_id = p_job_id) then
      perform start_child_workflows(p_job_id, coalesce(v_run.step_id, p_job_id), v_run.tenant_id, p_wait,
        jobforge.now());
    end if;
  end if;
  return end_one_run(p_worker_id, run_end(
    p_id => p_job_id, p_attempt => p_attempt, p_status => 'deferred', p_counts => false, p_wait => p_wait,
    p_run_at => coalesce(time_or_null(p_wait ->> 'until'), jobforge.now() + interval '1 year')));
end $$;
