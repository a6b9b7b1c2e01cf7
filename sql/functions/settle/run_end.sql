-- Makes the end of a run. p_status is succeeded, failed, deferred or released, as a worker reports it, or lost. Without
-- p_attempt it is the end of the run that the worker holds now. p_ord is its place in the call. p_run_at is when the
-- job runs again; null leaves that to the policy of its type. p_wait is what the job of a suspended run waits for;
-- p_not_before is the earliest time of a retry after the backoff. One expression that uses each parameter once, so that
-- Postgres inlines it: naming the fields costs nothing.
create or replace function jobforge.run_end(
  p_id uuid,
  p_status text,
  p_attempt integer default null,
  p_ord integer default 1,
  p_error jsonb default null,
  p_result jsonb default null,
  p_artifact_ref text default null,
  p_retry boolean default null,
  p_run_at timestamptz default null,
  p_counts boolean default null,
  p_cost_cents integer default null,
  p_children jobforge.new_job[] default null,
  p_next_run_at timestamptz default null,
  p_logs jsonb default null,
  p_wait jsonb default null,
  p_not_before timestamptz default null
) returns jobforge.run_end
language sql immutable parallel safe as $$
  select row(
    p_ord, p_id, p_attempt, p_status, p_error, p_result, p_artifact_ref, coalesce(p_retry, true), p_run_at,
    coalesce(p_counts, true), p_cost_cents, p_children, p_next_run_at, p_logs, p_wait,
    p_not_before)::jobforge.run_end
$$;
