-- What the tables mean in public words. The private views are the owner's, whom row security does not bind: only the
-- kernel's functions read them. The API views below have the same text and another owner.

-- The id of one execution, for logs, the attempt and outbound calls: 32 hex digits that follow from job and attempt, so
-- every party can compute it and nobody has to store it.
create or replace function jobforge.trace_id(p_job_id uuid, p_attempt integer) returns text
language sql immutable strict parallel safe as $$
  select encode(substring(sha256(uuid_send(p_job_id) || int4send(p_attempt)) for 16), 'hex')
$$;

create or replace view jobforge.live_jobs as
select
  j.id,
  j.tenant_id,
  j.type,
  coalesce(j.payload, (select p.payload from jobforge.payloads p where p.job_id = j.id)) as payload,
  case j.state when 'running' then 'running' else 'queued' end as status,
  -j.rank as priority,
  j.attempts,
  j.max_attempts,
  j.run_at,
  j.worker_id as locked_by,
  case j.state when 'running' then j.started_at end as locked_at,
  case j.state when 'running' then coalesce(j.heartbeat_at, j.started_at) end as heartbeat_at,
  j.started_at,
  null::timestamptz as finished_at,
  j.idempotency_key,
  j.dedupe_key,
  j.subject,
  j.tags,
  j.progress,
  exists (select from jobforge.cancel_requests c where c.job_id = j.id) as cancel_requested,
  j.error,
  j.error ->> 'message' as last_error,
  null::uuid as result_id,
  j.cost_cents,
  j.created_at,
  j.updated_at,
  j.uncounted,
  j.expires_at,
  j.concurrency_key,
  j.traceparent,
  case when j.attempts > 0 then jobforge.trace_id(j.id, j.attempts) end as trace_id,
  null::text as reason,
  j.schedule_id,
  j.scheduled_for
from jobforge.jobs j;

create or replace view jobforge.ended_jobs as
select
  f.id,
  f.tenant_id,
  f.type,
  coalesce(f.payload, (select p.payload from jobforge.payloads p where p.job_id = f.id)) as payload,
  f.status,
  -f.rank as priority,
  f.attempts,
  f.max_attempts,
  f.run_at,
  null::text as locked_by,
  null::timestamptz as locked_at,
  null::timestamptz as heartbeat_at,
  f.started_at,
  f.finished_at,
  f.idempotency_key,
  f.dedupe_key,
  f.subject,
  f.tags,
  f.progress,
  f.status = 'canceled' and f.last_run is not null as cancel_requested,
  f.error,
  f.error ->> 'message' as last_error,
  f.result_id,
  f.cost_cents,
  f.created_at,
  f.finished_at as updated_at,
  f.uncounted,
  f.expires_at,
  f.concurrency_key,
  f.traceparent,
  case when f.attempts > 0 then jobforge.trace_id(f.id, f.attempts) end as trace_id,
  f.reason,
  f.schedule_id,
  f.scheduled_for
from jobforge.archive f;

do $$
begin
  execute format('create or replace view jobforge.all_jobs as %s union all %s',
    rtrim(pg_get_viewdef('jobforge.live_jobs'::regclass), ';'), pg_get_viewdef('jobforge.ended_jobs'::regclass));
end $$;

create or replace view jobforge.all_attempts as
select
  r.job_id, r.tenant_id, r.attempt_no, r.status, r.worker_id,
  jobforge.trace_id(r.job_id, r.attempt_no) as trace_id,
  r.started_at, r.finished_at,
  (extract(epoch from r.finished_at - r.started_at) * 1000)::bigint as duration_ms,
  r.error
from (
  select a.job_id, a.tenant_id, a.attempt_no, a.status, a.worker_id, a.started_at, a.finished_at, a.error
  from jobforge.attempts a
  union all
  select j.id, j.tenant_id, j.attempts, 'running', j.worker_id, j.started_at, null, null
  from jobforge.jobs j
  where j.state = 'running'
  union all
  select
    f.id, f.tenant_id, f.attempts,
    case when f.status = 'canceled' and f.last_run not in ('succeeded', 'lost') then 'canceled' else f.last_run end,
    f.worker_id, f.started_at, f.finished_at,
    -- A run that was only put off when somebody canceled the job leaves the error of the one before.
    case when f.last_run in ('failed', 'lost') or (f.last_run <> 'succeeded' and f.status <> 'canceled') then f.error end
  from jobforge.archive f
  where f.last_run is not null
) r;

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
