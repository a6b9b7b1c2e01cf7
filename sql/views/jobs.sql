-- Jobs with the columns and types of the API. These private views belong to the owner of the tables, who is not subject
-- to row security, so only the kernel's functions read them. The views in api.sql have the same text and another owner.

-- The rows of queued and running jobs, with the columns of both rooms. A job moves between the rooms, and each
-- statement of a function has its own snapshot. So a function that looks for a job in either room reads both in one
-- statement: through this view. Statements that concern one room read its table.
--   state running: the job is in the runs; otherwise its state in the queue
create or replace view jobforge.live_rows as
select
  q.id, q.seq, q.tenant_id, q.lane, q.type, q.state::text collate "C" as state, q.rank, q.attempts::integer, q.uncounted,
  q.failures, q.losses, q.max_attempts, q.budget, q.run_at, q.created_at, q.updated_at, q.expires_at, q.started_at,
  null::timestamptz as heartbeat_at, null::jobforge.worker_name as worker_id, q.payload, q.idempotency_key,
  q.dedupe_key, q.concurrency_key, q.subject, q.tags, q.traceparent, q.progress, q.error, q.cost_cents, q.schedule_id,
  q.scheduled_for, q.parked_in, false as counted, false as bound, q.step_id, q.keep_days, false as handed
from jobforge.queue q
union all
select
  r.id, r.seq, r.tenant_id, uuid_hash_extended(r.tenant_id, 0), r.type, 'running' collate "C", r.rank,
  r.attempts::integer, r.uncounted, r.failures, r.losses, r.max_attempts, r.budget, r.run_at, r.created_at,
  r.updated_at, r.expires_at, r.started_at, r.heartbeat_at, r.worker_id, r.payload, r.idempotency_key, r.dedupe_key,
  r.concurrency_key, r.subject, r.tags, r.traceparent, r.progress, r.error, r.cost_cents, r.schedule_id,
  r.scheduled_for, null::bigint, r.counted, r.bound, r.step_id, r.keep_days, r.handed
from jobforge.runs r;

-- Queued and running jobs. The database copies the text of live_rows, because a view that reads another view is locked
-- before it: a migration, which replaces live_rows first, and a statement of a worker would wait for each other.
do $$
begin
  execute format($view$
create or replace view jobforge.live_jobs as
select
  j.id,
  j.tenant_id,
  j.type::text,
  coalesce(j.payload, (select p.payload::jsonb from jobforge.payloads p where p.job_id = j.id)) as payload,
  case j.state when 'running' then 'running' else 'queued' end as status,
  -j.rank as priority,
  j.attempts,
  j.max_attempts::integer,
  j.run_at::timestamptz,
  j.worker_id::text as locked_by,
  case j.state when 'running' then j.started_at end as locked_at,
  case j.state when 'running' then coalesce(j.heartbeat_at, j.started_at) end as heartbeat_at,
  j.started_at,
  null::timestamptz as finished_at,
  j.idempotency_key::text,
  j.dedupe_key::text,
  j.subject::text,
  j.tags::text[],
  j.progress,
  exists (select from jobforge.cancel_requests c where c.job_id = j.id) as cancel_requested,
  j.error,
  coalesce(j.error ->> 'fullMessage', j.error ->> 'message') as last_error,
  null::uuid as result_id,
  j.cost_cents,
  j.created_at,
  j.updated_at,
  j.uncounted::integer,
  j.expires_at::timestamptz,
  j.concurrency_key::text,
  j.traceparent,
  case when j.attempts > 0 then jobforge.trace_id(j.id, j.attempts) end as trace_id,
  null::text as reason,
  j.schedule_id,
  j.scheduled_for,
  case when j.schedule_id is not null
    then (select s.key::text from jobforge.schedules s where s.id = j.schedule_id) end as schedule_key,
  (select t.label from jobforge.tenants t where t.tenant_id = j.tenant_id) as tenant_label,
  j.step_id,
  case when j.step_id is not null
    then (select s.workflow_id from jobforge.steps s where s.id = j.step_id) end as workflow_id
from (%s) j
$view$, rtrim(pg_get_viewdef('jobforge.live_rows'::regclass), ';'));
end $$;

-- Finished jobs.
create or replace view jobforge.ended_jobs as
select
  f.id,
  f.tenant_id,
  f.type::text,
  coalesce(f.payload, (select p.payload::jsonb from jobforge.payloads p where p.job_id = f.id)) as payload,
  f.status::text,
  -f.rank as priority,
  f.attempts::integer,
  f.max_attempts::integer,
  f.run_at::timestamptz,
  null::text as locked_by,
  null::timestamptz as locked_at,
  null::timestamptz as heartbeat_at,
  f.started_at,
  f.finished_at,
  f.idempotency_key::text,
  f.dedupe_key::text,
  f.subject::text,
  f.tags::text[],
  f.progress,
  f.status = 'canceled' and f.last_run is not null as cancel_requested,
  f.error,
  coalesce(f.error ->> 'fullMessage', f.error ->> 'message') as last_error,
  f.result_id,
  f.cost_cents,
  f.created_at,
  f.finished_at as updated_at,
  f.uncounted::integer,
  f.expires_at::timestamptz,
  f.concurrency_key::text,
  f.traceparent,
  case when f.attempts > 0 then jobforge.trace_id(f.id, f.attempts) end as trace_id,
  f.reason::text,
  f.schedule_id,
  f.scheduled_for,
  case when f.schedule_id is not null
    then (select s.key::text from jobforge.schedules s where s.id = f.schedule_id) end as schedule_key,
  (select t.label from jobforge.tenants t where t.tenant_id = f.tenant_id) as tenant_label,
  f.step_id,
  case when f.step_id is not null
    then (select s.workflow_id from jobforge.steps s where s.id = f.step_id) end as workflow_id
from jobforge.archive f;

-- All jobs.
do $$
begin
  execute format('create or replace view jobforge.all_jobs as %s union all %s',
    rtrim(pg_get_viewdef('jobforge.live_jobs'::regclass), ';'), pg_get_viewdef('jobforge.ended_jobs'::regclass));
end $$;
