/** Checks of executions, attempts and fences: compares what handlers recorded with what the database recorded. */
import { effect, flowSaga } from "../jobs.ts";
import type { Check } from "./check.ts";

/**
 * The reported end of each run. Not the view of attempts, which shows "canceled" for the last run of a canceled job.
 */
export const runsSql = `
  select a.job_id, a.attempt_no as attempt, a.tenant_id, j.type, a.status as ended, a.worker_id, a.started_at, a.finished_at, false as last,
    a.handed
  from jobforge.attempts a join jobforge.all_jobs j on j.id = a.job_id
  union all
  select f.id, f.attempts, f.tenant_id, f.type, f.last_run, f.worker_id, f.started_at, f.finished_at, true, f.handed
  from jobforge.archive f where f.last_run is not null`;

export const attemptsComplete: Check = {
  name: "attempts",
  promise:
    "The attempts of a job are numbered without gaps, and agree with every start and end that the trigger recorded",
  query: `
    with runs as (${runsSql}), moves as (
      select t.job_id, t.attempt, count(*) filter (where t.event = 'start') as starts, count(*) filter (where t.event = 'end') as ends,
        min(t.worker_id) as worker_id
      from chaos.transitions t group by 1, 2)
    select j.id as job_id, format('has %s attempts, but the recorded attempts are %s', j.attempts, x.numbers) as what
    from jobforge.all_jobs j
    left join (select r.job_id, array_agg(r.attempt order by r.attempt) as numbers from runs r group by 1) x on x.job_id = j.id
    where coalesce(x.numbers, '{}') <> array(select n from generate_series(1, j.attempts) n)
    union all
    select coalesce(r.job_id, m.job_id), format('attempt %s is recorded with worker %s; the trigger recorded %s starts and %s ends by %s',
      coalesce(r.attempt, m.attempt), coalesce(r.worker_id, 'none'), coalesce(m.starts, 0), coalesce(m.ends, 0), m.worker_id)
    from runs r full join moves m on (m.job_id, m.attempt) = (r.job_id, r.attempt)
    where (r.worker_id, m.starts, m.ends) is distinct from (m.worker_id, 1::bigint, 1::bigint)`,
};

export const executionsEqualAttempts: Check = {
  name: "executions",
  promise:
    "Every execution is a recorded attempt of its worker, and no attempt is executed twice; every attempt that its handler ended was executed, with that outcome",
  query: `
    with runs as (${runsSql})
    select e.job_id, format('attempt %s was executed by %s but is recorded with worker %s', e.attempt, e.worker_id, coalesce(r.worker_id, 'none')) as what
    from chaos.executions e left join runs r on (r.job_id, r.attempt) = (e.job_id, e.attempt)
    where r.worker_id is distinct from e.worker_id
    union all
    select e.job_id, format('attempt %s was executed %s times', e.attempt, count(*))
    from chaos.executions e group by e.job_id, e.attempt having count(*) > 1
    union all
    select r.job_id, format('attempt %s ended as %s, but the handler %s', r.attempt, r.ended, coalesce(e.outcome, 'was never called'))
    from runs r left join chaos.executions e on (e.job_id, e.attempt) = (r.job_id, r.attempt)
    where r.ended in ('succeeded', 'failed', 'deferred')
      and case
        -- Settled inside its handler, which may have been killed right after the commit, or may have missed the reply.
        when r.ended = 'succeeded' and r.type = $1 then e.job_id is null
        -- Suspended: its handler neither returns nor throws.
        when r.ended = 'deferred' and r.type = $2 then e.job_id is null
        else e.outcome is distinct from case r.ended when 'succeeded' then 'returned' else 'threw' end
      end`,
  values: [effect.type, flowSaga.type],
};

export const fences: Check = {
  name: "fences",
  promise:
    "No end is accepted from a worker that has lost the job: an end with the reply that it was accepted is recorded, an end with the reply stale is not",
  query: `
    with runs as (${runsSql})
    select a.job_id, format('worker %s got the reply %s for attempt %s; recorded is %s by %s', a.worker_id, a.reply, a.attempt,
      coalesce(r.ended, 'nothing'), coalesce(r.worker_id, 'none')) as what
    from chaos.replies a left join runs r on (r.job_id, r.attempt) = (a.job_id, a.attempt)
    where r.worker_id is distinct from a.worker_id
      or (a.reply <> 'stale' and r.ended not in ('succeeded', 'failed', 'deferred'))
      -- A job that was handed over and may not have arrived goes back as released.
      or (a.reply = 'stale' and r.ended <> 'lost' and not (r.ended = 'released' and r.handed))
    union all
    select a.job_id, format('attempt %s was accepted %s times', a.attempt, count(*))
    from chaos.replies a where a.reply <> 'stale' group by a.job_id, a.attempt having count(*) > 1
    union all
    select e.job_id, format('attempt %s ended at %s, after the next attempt began at %s', e.attempt, e.at, n.at)
    from chaos.transitions e
    join chaos.transitions n on (n.job_id, n.attempt, n.event) = (e.job_id, e.attempt + 1, 'start')
    where e.event = 'end' and n.at < e.at`,
};

export const effectsOnce: Check = {
  name: "effects once",
  promise:
    "A row that a handler wrote in the transaction that settled its run exists once if the run succeeded, and not otherwise",
  query: `
    select coalesce(j.id, e.job_id) as job_id, format('is %s with attempt %s and has the effects of attempts %s',
      coalesce(j.status, 'unknown'), j.attempts, e.attempts) as what
    from (select j.id, j.status, j.attempts, j.type,
        (select f.last_run from jobforge.archive f where f.id = j.id) as last_run from jobforge.all_jobs j where j.type = $1) j
    full join (select e.job_id, array_agg(e.attempt) as attempts from chaos.effects e group by 1) e on e.job_id = j.id
    where e.attempts is distinct from case when j.last_run = 'succeeded' then array[j.attempts] end`,
  values: [effect.type],
};
