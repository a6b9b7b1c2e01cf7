/** Checks of schedules, audit and usage: the records that are kept in addition to the jobs. */
import { auditedAction, plain } from "../jobs.ts";
import type { Check } from "./check.ts";
import { runsSql } from "./runs.ts";

export const schedulesOnce: Check = {
  name: "schedules",
  promise: "A schedule fires at most once for each due time; with missed: all, it skips no due time",
  query: `
    select min(j.id::text)::uuid as job_id, format('schedule %s has %s jobs for the due time %s', s.key, count(*), j.scheduled_for) as what
    from jobforge.all_jobs j join jobforge.schedules s on s.id = j.schedule_id
    group by s.key, j.schedule_id, j.scheduled_for having count(*) > 1
    union all
    select n.id, format('schedule all skipped due times between %s and this run for %s, created at %s', n.before, n.scheduled_for, n.created_at)
    from (
      select j.id, j.scheduled_for, j.created_at, lag(j.scheduled_for) over (order by j.scheduled_for) as before
      from jobforge.all_jobs j join jobforge.schedules s on s.id = j.schedule_id
      where s.key = 'all'
    ) n
    where n.scheduled_for - n.before > interval '1 second'`,
};

export const audit: Check = {
  name: "audit",
  promise:
    "The audit log has one entry for each permanently failed job and for each success of an audited type, and no others",
  query: `
    with wanted as (
      select f.id::text as entity_id, case f.status when 'dead' then 'JOB_EXHAUSTED_RETRIES' when 'succeeded' then $1 else 'JOB_FAILED' end as action
      from jobforge.archive f left join jobforge.schedules s on s.id = f.schedule_id
      where f.status = 'dead' or (f.status = 'failed' and (s.id is null or s.retry_runs)) or (f.status = 'succeeded' and f.type = $2)
    ), kept as (
      select a.entity_id, a.action, count(*) as times from jobforge.audit_log a
      where a.action in ('JOB_EXHAUSTED_RETRIES', 'JOB_FAILED', $1) group by 1, 2)
    select coalesce(w.entity_id, k.entity_id)::uuid as job_id, format('has %s audit entries %s; expected %s', coalesce(k.times, 0),
      coalesce(w.action, k.action), (w.entity_id is not null)::int) as what
    from wanted w full join kept k on (k.entity_id, k.action) = (w.entity_id, w.action)
    where k.times is distinct from 1 or w.entity_id is null`,
  values: [auditedAction, plain.type],
};

export const usage: Check = {
  name: "usage",
  promise: "Usage per tenant and type agrees with the recorded runs",
  query: `
    with runs as (${runsSql}), wanted as (
      select r.tenant_id, r.type, count(*) as runs, count(*) filter (where r.ended = 'succeeded') as succeeded,
        count(*) filter (where r.ended = 'failed') as failed, count(*) filter (where r.ended = 'lost') as lost,
        count(*) filter (where r.ended = 'deferred') as deferred,
        count(*) filter (where r.ended in ('failed', 'lost') and not r.last) as retries,
        count(*) filter (where r.last and f.status in ('failed', 'dead')) as dead,
        -- The cost of all jobs, including those that were canceled between two runs.
        (select coalesce(sum(c.cost_cents), 0) from jobforge.archive c where (c.tenant_id, c.type) = (r.tenant_id, r.type)) as cost_cents
      from runs r left join jobforge.archive f on f.id = r.job_id
      where r.ended <> 'released' group by r.tenant_id, r.type
    ), kept as (
      select u.tenant_id, u.type, sum(u.runs) as runs, sum(u.succeeded) as succeeded, sum(u.failed) as failed, sum(u.lost) as lost,
        sum(u.deferred) as deferred, sum(u.retries) as retries, sum(u.dead) as dead, sum(u.cost_cents) as cost_cents
      from (
        select tenant_id, type, runs, succeeded, failed, lost, deferred, retries, dead, cost_cents from jobforge.usage
        union all
        select tenant_id, type, runs, succeeded, failed, lost, deferred, retries, dead, cost_cents from jobforge.usage_deltas
      ) u where u.type not like 'workflow:%' group by 1, 2)
    select null::uuid as job_id, format('%s of %s: usage is %s; the recorded runs give %s', coalesce(w.type, k.type), coalesce(w.tenant_id, k.tenant_id),
      to_jsonb(k) - 'type' - 'tenant_id', to_jsonb(w) - 'type' - 'tenant_id') as what
    from wanted w full join kept k on (k.tenant_id, k.type) = (w.tenant_id, w.type)
    where (w.runs, w.succeeded, w.failed, w.lost, w.deferred, w.retries, w.dead, w.cost_cents)
      is distinct from (k.runs, k.succeeded, k.failed, k.lost, k.deferred, k.retries, k.dead, k.cost_cents)`,
};

export const leftovers: Check = {
  name: "leftovers",
  promise:
    "No other work is left: no children waiting to be enqueued, no cancel requests, no dedupe keys, no ends of scheduled runs to be processed, no needs of steps and nothing to decide about them",
  query: `
    select null::uuid as job_id, format('%s rows are left in %s', l.rows, l.name) as what
    from (
      select 'outbox' as name, count(*) as rows from jobforge.outbox
      union all
      select 'cancel_requests', count(*) from jobforge.cancel_requests
      union all
      select 'dedupe_keys', count(*) from jobforge.dedupe_keys
      union all
      select 'schedule_ends', count(*) from jobforge.schedule_ends
      union all
      select 'edges', count(*) from jobforge.edges
      union all
      select 'dooms', count(*) from jobforge.dooms
      union all
      select 'wakeups', count(*) from jobforge.wakeups) l
    where l.rows > 0`,
};
