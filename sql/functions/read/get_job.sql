-- Returns one job of a tenant, live or finished; no row if there is none. A step of a workflow that is blocked, by its
-- own id, is returned as the queued job that it becomes, with the references in its payload. p_masked: the values of
-- keys that the policy of the type lists in redact are masked in payload and progress; see jobforge_reveal_job.
-- Who: the tenant itself, operators. Locks nothing.
create or replace function :"api_schema".jobforge_get_job(
  p_job_id uuid, p_tenant_id uuid, p_masked boolean default false
) returns setof :"api_schema".jobforge_jobs
language plpgsql stable
security definer
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
begin
  perform require_tenant(p_tenant_id);
  return query
  select m.* from find_job(p_job_id) j cross join lateral shown_job(j, p_masked) m where j.tenant_id = p_tenant_id;
  if not found then
    return query
    select m.* from find_blocked(p_job_id) j cross join lateral shown_job(j, p_masked) m where j.tenant_id = p_tenant_id;
  end if;
end $$;

-- Returns a blocked step that runs a job as the job that it becomes.
create or replace function jobforge.find_blocked(p_step_id uuid) returns setof jobforge.all_jobs
language sql stable as $$
  select j.*
  from jobforge.steps s
  cross join lateral jobforge.policy_of(s.type) p
  left join jobforge.workflows w on w.id = s.workflow_id
  cross join lateral jsonb_populate_record(null::jobforge.all_jobs, jsonb_build_object(
    'id', s.id, 'tenant_id', s.tenant_id, 'type', s.type, 'payload', s.payload, 'status', 'queued',
    'priority', -coalesce(s.rank, w.rank, 0), 'attempts', 0, 'uncounted', 0,
    'max_attempts', coalesce(s.max_attempts, p.max_attempts), 'run_at', jobforge.time_of(s.id),
    'created_at', jobforge.time_of(s.id), 'updated_at', jobforge.time_of(s.id),
    'subject', coalesce(s.subject, w.subject), 'tags', to_jsonb(coalesce(s.tags, w.tags, '{}')),
    'concurrency_key', s.concurrency_key, 'traceparent', w.traceparent, 'step_id', s.id, 'workflow_id', s.workflow_id,
    'cancel_requested', exists (select from jobforge.dooms d where d.node_id = s.id and d.need_id = s.id),
    'tenant_label', (select t.label from jobforge.tenants t where t.tenant_id = s.tenant_id))) j
  where s.id = p_step_id and s.kind = 'job' and s.decided_at is null and s.job_id is null
$$;
