/** Executions, attempts and fences: what handlers saw against what the database has. */
import { effect } from "../jobs.ts";
import type { Check } from "./check.ts";

/** How each run ended, as it was reported; the view shows "canceled" for the last run of a canceled job. */
export const RUNS = `
  select a.job_id, a.attempt_no as attempt, a.tenant_id, j.type, a.status as ended, a.worker_id, a.started_at, a.finished_at, false as last
  from jobforge.attempts a join jobforge.all_jobs j on j.id = a.job_id
  union all
  select f.id, f.attempts, f.tenant_id, f.type, f.last_run, f.worker_id, f.started_at, f.finished_at, true
  from jobforge.archive f where f.last_run is not null`;

export const attemptsComplete: Check = {
  name: "attempts",
  promise:
    "The attempts of a job are numbered without a gap, and agree with every start and end that the trigger saw",
  query: `
    with runs as (${RUNS}), moves as (
      select t.job_id, t.attempt, count(*) filter (where t.event = 'start') as starts, count(*) filter (where t.event = 'end') as ends,
        min(t.worker_id) as worker_id
      from chaos.transitions t group by 1, 2)
    select j.id as job_id, format('has run %s times and shows %s', j.attempts, x.numbers) as what
    from jobforge.all_jobs j
    left join (select r.job_id, array_agg(r.attempt order by r.attempt) as numbers from runs r group by 1) x on x.job_id = j.id
    where coalesce(x.numbers, '{}') <> array(select n from generate_series(1, j.attempts) n)
    union all
    select coalesce(r.job_id, m.job_id), format('attempt %s is recorded by %s; the trigger saw %s starts and %s ends by %s',
      coalesce(r.attempt, m.attempt), coalesce(r.worker_id, 'nobody'), coalesce(m.starts, 0), coalesce(m.ends, 0), m.worker_id)
    from runs r full join moves m on (m.job_id, m.attempt) = (r.job_id, r.attempt)
    where (r.worker_id, m.starts, m.ends) is distinct from (m.worker_id, 1::bigint, 1::bigint)`,
};

export const executionsEqualAttempts: Check = {
  name: "executions",
  promise:
    "Every execution that a handler saw is a recorded attempt of that worker, each at most once; every attempt that ended by a handler's word was executed, with that outcome",
  query: `
    with runs as (${RUNS})
    select e.job_id, format('attempt %s was executed by %s and is recorded by %s', e.attempt, e.worker_id, coalesce(r.worker_id, 'nobody')) as what
    from chaos.executions e left join runs r on (r.job_id, r.attempt) = (e.job_id, e.attempt)
    where r.worker_id is distinct from e.worker_id
    union all
    select e.job_id, format('attempt %s was executed %s times', e.attempt, count(*))
    from chaos.executions e group by e.job_id, e.attempt having count(*) > 1
    union all
    select r.job_id, format('attempt %s ended as %s, and the handler %s', r.attempt, r.ended, coalesce(e.outcome, 'was never called'))
    from runs r left join chaos.executions e on (e.job_id, e.attempt) = (r.job_id, r.attempt)
    where r.ended in ('succeeded', 'failed', 'deferred')
      and case
        -- Ended inside of its handler, which may have been killed, or not have got the answer, right after the commit.
        when r.ended = 'succeeded' and r.type = $1 then e.job_id is null
        else e.outcome is distinct from case r.ended when 'succeeded' then 'returned' else 'threw' end
      end`,
  values: [effect.type],
};

export const fences: Check = {
  name: "fences",
  promise:
    "No end was accepted from a worker that had lost the job: what a worker was told was kept is what is recorded, and what it was told was refused is not",
  query: `
    with runs as (${RUNS})
    select a.job_id, format('worker %s was told that attempt %s is %s; recorded is %s by %s', a.worker_id, a.attempt, a.answer,
      coalesce(r.ended, 'nothing'), coalesce(r.worker_id, 'nobody')) as what
    from chaos.answers a left join runs r on (r.job_id, r.attempt) = (a.job_id, a.attempt)
    where r.worker_id is distinct from a.worker_id
      or (a.answer <> 'stale' and r.ended not in ('succeeded', 'failed', 'deferred'))
      or (a.answer = 'stale' and r.ended <> 'lost')
    union all
    select a.job_id, format('attempt %s was kept %s times', a.attempt, count(*))
    from chaos.answers a where a.answer <> 'stale' group by a.job_id, a.attempt having count(*) > 1
    union all
    select e.job_id, format('attempt %s ended at %s, after the next one had begun at %s', e.attempt, e.at, n.at)
    from chaos.transitions e
    join chaos.transitions n on (n.job_id, n.attempt, n.event) = (e.job_id, e.attempt + 1, 'start')
    where e.event = 'end' and n.at < e.at`,
};

export const effectsOnce: Check = {
  name: "effects once",
  promise:
    "What a handler wrote in the transaction that ended its job is there once when the job succeeded, and not otherwise",
  query: `
    select coalesce(j.id, e.job_id) as job_id, format('is %s with attempt %s and has the effects of attempts %s',
      coalesce(j.status, 'unknown'), j.attempts, e.attempts) as what
    from (select j.id, j.status, j.attempts, j.type,
        (select f.last_run from jobforge.archive f where f.id = j.id) as last_run from jobforge.all_jobs j where j.type = $1) j
    full join (select e.job_id, array_agg(e.attempt) as attempts from chaos.effects e group by 1) e on e.job_id = j.id
    where e.attempts is distinct from case when j.last_run = 'succeeded' then array[j.attempts] end`,
  values: [effect.type],
};
