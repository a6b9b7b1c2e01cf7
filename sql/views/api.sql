-- The read-only views of the API. Columns are only appended. These views must read the tables themselves, because a
-- view of the owner in between would lift row security. So the database copies the text of the private views. The index
-- queue_tenant finds a tenant's queued jobs. Its runs are found among all runs, which are few at any time.
do $$
declare
  v_live text;
  v_ended text;
  v_attempts text;
begin
  -- With the search path of a migration every name in the copied text has its schema.
  v_live := replace(rtrim(pg_get_viewdef('jobforge.live_jobs'::regclass), ';'), 'FROM jobforge.queue q',
    $x$FROM jobforge.queue q WHERE q.state <> ''$x$);
  v_ended := pg_get_viewdef('jobforge.ended_jobs'::regclass);
  v_attempts := pg_get_viewdef('jobforge.all_attempts'::regclass);
  if position('jobforge.live_rows' in v_live) > 0 or position('WHERE q.state' in v_live) = 0 then
    raise exception 'jobforge.live_jobs is not read from jobforge.queue q';
  end if;
  execute format('create or replace view %I.jobforge_jobs as %s union all %s', :'api_schema', v_live, v_ended);
  execute format('create or replace view %I.jobforge_job_attempts as %s', :'api_schema', v_attempts);
end $$;

create or replace view :"api_schema".jobforge_job_results as
select result_id as id, id as job_id, tenant_id, result, artifact_ref, finished_at as created_at
from jobforge.archive
where result_id is not null;

create or replace view :"api_schema".jobforge_job_logs as
select job_id, tenant_id, attempt_no::integer, lines, dropped
from jobforge.job_logs;

create or replace view :"api_schema".jobforge_connector_configs as
select tenant_id, connector_type, config, created_at, updated_at
from jobforge.connector_configs;

create or replace view :"api_schema".jobforge_audit_log as
select a.at, a.tenant_id, a.actor, a.action, a.entity_type, a.entity_id, a.message, a.meta, a.id,
  (select t.label from jobforge.tenants t where t.tenant_id = a.tenant_id) as tenant_label
from jobforge.audit_log a;

-- The owner of the views neither owns the tables nor bypasses row security, so the policies apply to what a view reads.
alter view :"api_schema".jobforge_jobs owner to jobforge_view;
alter view :"api_schema".jobforge_job_attempts owner to jobforge_view;
alter view :"api_schema".jobforge_job_results owner to jobforge_view;
alter view :"api_schema".jobforge_job_logs owner to jobforge_view;
alter view :"api_schema".jobforge_connector_configs owner to jobforge_view;
alter view :"api_schema".jobforge_audit_log owner to jobforge_view;
