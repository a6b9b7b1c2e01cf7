-- The runs of all jobs: those that did not finish their job, those that are running, and those that finished their job.
create or replace view jobforge.all_attempts as
select
  r.job_id, r.tenant_id, r.attempt_no, r.status, r.worker_id,
  jobforge.trace_id(r.job_id, r.attempt_no) as trace_id,
  r.started_at, r.finished_at,
  (extract(epoch from r.finished_at - r.started_at) * 1000)::bigint as duration_ms,
  r.error, r.handed
from (
  select
    a.job_id, a.tenant_id, a.attempt_no::integer, a.status::text, a.worker_id::text, a.started_at, a.finished_at,
    a.error, a.handed
  from jobforge.attempts a
  union all
  select r.id, r.tenant_id, r.attempts::integer, 'running', r.worker_id::text, r.started_at, null, null, r.handed
  from jobforge.runs r
  union all
  select
    f.id, f.tenant_id, f.attempts::integer,
    case
      when f.status = 'canceled' and f.last_run not in ('succeeded', 'lost') then 'canceled'
      else f.last_run::text
    end,
    f.worker_id::text, f.started_at, f.finished_at,
    -- When a job was canceled while its run was deferred or released, its error is the one of an earlier run.
    case
      when f.last_run in ('failed', 'lost') or (f.last_run <> 'succeeded' and f.status <> 'canceled') then f.error
    end,
    f.handed
  from jobforge.archive f
  where f.last_run is not null
) r;
