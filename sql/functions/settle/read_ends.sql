-- Returns the ends of runs in a JSON array of objects. Never raises for one of them: an end whose id or attempt is
-- malformed matches no job. Checking each end before it is cast costs more than reading them all, so the check runs
-- only if the cast fails.
create or replace function jobforge.read_ends(p_results jsonb, p_now timestamptz) returns jobforge.run_end[]
language plpgsql as $$
begin
  return jobforge.cast_ends(p_results, p_now);
exception when data_exception then
  return jobforge.cast_ends(jobforge.blank_malformed_ends(p_results), p_now);
end $$;

-- Returns the ends of runs in a JSON array of objects, whose ids and attempts are well-formed. An object that is not an
-- end (no id, or an unknown status) gets a null id, so it matches no job. A success whose result or children cannot be
-- stored becomes a failure that is not retried: its work is done, and a retry would give the same result. Another end
-- loses such a result.
create or replace function jobforge.cast_ends(p_results jsonb, p_now timestamptz) returns jobforge.run_end[]
language plpgsql as $$
begin
  return (
    select array_agg(jobforge.run_end(
        p_ord => r.ord::integer,
        p_id => case when r.status in ('succeeded', 'failed', 'deferred', 'released', 'suspended') then r.id end,
        p_attempt => r.attempt,
        p_status => case
          when x.problem is not null and r.status in ('succeeded', 'suspended') then 'failed'
          when r.status = 'suspended' then 'deferred'
          else r.status
        end,
        p_error => case
          when x.problem is not null and r.status in ('succeeded', 'suspended') then x.problem
          else r.error
        end,
        p_result => case when x.problem is null then r.result end,
        p_artifact_ref => case when x.problem is null then r.artifact_ref end,
        p_retry => r.retry is distinct from 'false' and (x.problem is null or r.status not in ('succeeded', 'suspended')),
        p_run_at => case r.status
          when 'failed' then case when r.retry_at is not null then jobforge.time_or_null(r.retry_at) end
          when 'suspended' then case when x.problem is null
            then coalesce(jobforge.time_or_null(r.wait ->> 'until'), p_now + interval '1 year') end
          when 'deferred' then coalesce(case when r.run_at is not null then jobforge.time_or_null(r.run_at) end, p_now)
        end,
        p_counts => r.counts is distinct from 'false' and r.status is distinct from 'suspended',
        p_cost_cents => case when r.cost_cents ~ '^[0-9]{1,9}$' then r.cost_cents::integer end,
        p_children => case when r.children is not null and r.status = 'succeeded' and x.problem is null
          then jobforge.read_children(r.children, p_now) end,
        p_next_run_at => case when r.next_run_at is not null then jobforge.time_or_null(r.next_run_at) end,
        p_logs => r.logs,
        p_wait => case when r.status = 'suspended' and x.problem is null then r.wait end,
        p_not_before => case when r.not_before is not null then jobforge.time_or_null(r.not_before) end))
    from rows from (jsonb_to_recordset(p_results) as (
      id uuid, attempt integer, status text, error jsonb, result jsonb, artifact_ref text, retry text, retry_at text,
      run_at text, counts text, cost_cents text, children jsonb, next_run_at text, logs jsonb,
      wait jsonb, not_before text))
      with ordinality as r(
      id, attempt, status, error, result, artifact_ref, retry, retry_at, run_at, counts, cost_cents, children,
      next_run_at, logs, wait, not_before, ord)
    cross join lateral (
      select case when r.status = 'suspended' then jobforge.problem_with_wait(r.wait, p_now)
        when num_nonnulls(r.result, r.artifact_ref, r.children) > 0
        then jobforge.problem_with_end(
          r.result, r.artifact_ref, case when r.status = 'succeeded' then r.children end, p_now)
        end as problem
    ) x);
end $$;

-- The same array with an empty object in place of each end whose id or attempt is malformed, so that no cast can raise.
create or replace function jobforge.blank_malformed_ends(p_results jsonb) returns jsonb
language sql immutable as $$
  select jsonb_agg(
    case when jobforge.uuid_or_null(e.item ->> 'id') is not null
        and coalesce(e.item ->> 'attempt', '0') ~ '^[0-9]{1,9}$'
      then e.item else '{}' end
    order by e.ord)
  from jsonb_array_elements(p_results) with ordinality e(item, ord)
$$;

-- Why the result or the children of a run cannot be stored: an error for the run, or null.
create or replace function jobforge.problem_with_end(
  p_result jsonb, p_artifact_ref text, p_children jsonb, p_now timestamptz
) returns jsonb
language plpgsql as $$
begin
  perform jobforge.require_result(p_result);
  if jobforge.is_long_ref(p_artifact_ref) then
    perform jobforge.fail_argument('artifact_ref', 'artifact_ref is longer than 4096 bytes');
  elsif p_children is not null then
    perform jobforge.read_children(p_children, p_now);
  end if;
  return null;
exception when sqlstate 'JF002' or sqlstate 'JF008' then
  return jsonb_build_object('name', 'InvalidResult', 'message', sqlerrm);
when program_limit_exceeded or statement_too_complex then
  return '{"name": "InvalidResult", "message": "The result or the children are too large or nested too deeply"}';
end $$;

-- Returns whether an artifact_ref is longer than 4096 bytes. Null for null.
create or replace function jobforge.is_long_ref(p_artifact_ref text) returns boolean
language sql immutable parallel safe as $$
  select octet_length(p_artifact_ref) > 4096
$$;

-- Returns the children of a run as jobs to enqueue; null when there are none. Raises JF002 or JF008 like an enqueue.
create or replace function jobforge.read_children(p_children jsonb, p_now timestamptz) returns jobforge.new_job[]
language plpgsql as $$
declare
  v_jobs jobforge.new_job[];
begin
  if jsonb_typeof(p_children) <> 'array' then
    perform jobforge.fail_argument('children', 'children must be a JSON array');
  elsif jsonb_array_length(p_children) = 0 then
    return null;
  end if;
  v_jobs := jobforge.read_jobs(p_children, p_now);
  perform jobforge.require_valid(v_jobs, p_now, true);
  return v_jobs;
end $$;
