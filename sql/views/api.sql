-- The API's read-only views. Columns are only ever appended. They must read the tables themselves (a view of the owner's in
-- between would lift row security), so the texts of the private views are copied by the database, not by hand. Live jobs are
-- read in two halves: a tenant's queued jobs are found by their index; those that run, few at any time, by the index of all
-- that run.
do $$
declare
  v_path text := current_setting('search_path');
  v_live text;
  v_ended text;
  v_attempts text;
begin
  -- So that every name in the texts has its schema.
  perform set_config('search_path', 'pg_catalog', true);
  v_live := replace(rtrim(pg_get_viewdef('jobforge.live_jobs'::regclass), ';'), 'FROM jobforge.jobs j', $half$FROM (
    select q.* from jobforge.jobs q where q.state <> 'running'
    union all
    select r.* from jobforge.jobs r where r.state = 'running') j$half$);
  v_ended := pg_get_viewdef('jobforge.ended_jobs'::regclass);
  v_attempts := pg_get_viewdef('jobforge.all_attempts'::regclass);
  if position('union all' in v_live) = 0 then
    raise exception 'jobforge.live_jobs is not read from jobforge.jobs j';
  end if;
  execute format('create or replace view %I.jobforge_jobs as %s union all %s', :'api_schema', v_live, v_ended);
  execute format('create or replace view %I.jobforge_job_attempts as %s', :'api_schema', v_attempts);
  perform set_config('search_path', v_path, true);
end $$;

create or replace view :"api_schema".jobforge_job_results as
select result_id as id, id as job_id, tenant_id, result, artifact_ref, finished_at as created_at
from jobforge.archive
where result_id is not null;

create or replace view :"api_schema".jobforge_connector_configs as
select tenant_id, connector_type, config, created_at, updated_at
from jobforge.connector_configs;

create or replace view :"api_schema".jobforge_audit_log as
select at, tenant_id, actor, action, entity_type, entity_id, message, meta, id
from jobforge.audit_log;

-- Owned by a role that is neither the tables' owner nor free of row security, so that the policies apply below them.
alter view :"api_schema".jobforge_jobs owner to jobforge_view;
alter view :"api_schema".jobforge_job_attempts owner to jobforge_view;
alter view :"api_schema".jobforge_job_results owner to jobforge_view;
alter view :"api_schema".jobforge_connector_configs owner to jobforge_view;
alter view :"api_schema".jobforge_audit_log owner to jobforge_view;
