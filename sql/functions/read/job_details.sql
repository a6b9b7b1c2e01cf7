-- Returns how a job finished in one document: {id, type, status, reason, attempts, error, result, artifact_ref,
-- finished_at}, with nulls until it is finished; null if the tenant has no such job. It serves callers that wait for
-- a result. p_masked: as for jobforge_get_job.
-- Who: the tenant itself, operators. Locks nothing.
create or replace function :"api_schema".jobforge_get_result(
  p_job_id uuid, p_tenant_id uuid, p_masked boolean default false
) returns jsonb
language plpgsql stable
security definer
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
begin
  perform require_tenant(p_tenant_id);
  return (
    select jsonb_build_object(
      'id', j.id, 'type', j.type, 'status', j.status, 'reason', j.reason, 'attempts', j.attempts, 'error', j.error,
      'result', case when p_masked then masked(f.result, j.type) else f.result end, 'artifact_ref', f.artifact_ref, 'finished_at', j.finished_at)
    from find_job(p_job_id) j
    left join lateral (
      select a.result, a.artifact_ref from archive a where a.id = j.id and a.finished_at = j.finished_at limit 1
    ) f on true
    where j.tenant_id = p_tenant_id);
end $$;

-- Returns the executions of a job in order, the first 200 after the attempt p_after; no row if the tenant has no such
-- job. A job may have 100,000 executions with an error of 16 kB each, so they are returned in pages.
-- Who: the tenant itself, operators. Locks nothing.
create or replace function :"api_schema".jobforge_list_attempts(
  p_job_id uuid, p_tenant_id uuid, p_after integer default 0
)
returns setof :"api_schema".jobforge_job_attempts
language plpgsql stable
security definer
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
begin
  perform require_tenant(p_tenant_id);
  return query
  select a.*
  from all_attempts a
  where a.job_id = p_job_id and a.tenant_id = p_tenant_id and a.attempt_no > coalesce(p_after, 0)
  order by a.attempt_no
  limit 200;
end $$;

-- Returns what the handler of a job has logged, one row for each execution with a kept log, in order: the first 20
-- after the attempt p_after; no row if the tenant has no such job. Logs are kept if the policy of the type says so.
-- Who: the tenant itself, operators. Locks nothing.
create or replace function :"api_schema".jobforge_list_logs(
  p_job_id uuid, p_tenant_id uuid, p_after integer default 0
)
returns setof :"api_schema".jobforge_job_logs
language plpgsql stable
security definer
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
begin
  perform require_tenant(p_tenant_id);
  return query
  select l.job_id, l.tenant_id, l.attempt_no::integer, l.lines, l.dropped
  from job_logs l
  where l.job_id = p_job_id and l.tenant_id = p_tenant_id and l.attempt_no > coalesce(p_after, 0)
  order by l.attempt_no
  limit 20;
end $$;
