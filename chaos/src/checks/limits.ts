/** Checks of limits and order, based on the record of the trigger. */
import { limited, limitedTenant, maxOfLimitedTenant, maxOfLimitedType, serial } from "../jobs.ts";
import type { Check } from "./check.ts";

/** When each run began and ended. A run without an end lasts to infinity. */
const spansSql = `
  select s.job_id, s.attempt, s.type, s.tenant_id, s.concurrency_key, s.at as began, coalesce(e.at, 'infinity') as ended
  from chaos.transitions s
  left join chaos.transitions e on (e.job_id, e.attempt, e.event) = (s.job_id, s.attempt, 'end')
  where s.event = 'start'`;

export const serialKeys: Check = {
  name: "serial keys",
  promise:
    "Jobs of one key never overlap while they hold their leases; a job that has begun keeps its place until it finishes",
  query: `
    with spans as (${spansSql}), places as (
      select s.job_id, s.tenant_id, s.concurrency_key, min(s.began) as began,
        coalesce((select f.finished_at from jobforge.archive f where f.id = s.job_id), 'infinity') as place_ended, max(s.ended) as ended
      from spans s where s.type = $1 and s.concurrency_key is not null group by 1, 2, 3
    ), ordered as (
      select p.*, lag(p.job_id) over w as before, lag(greatest(p.ended, p.place_ended)) over w as before_ended
      from places p window w as (partition by p.tenant_id, p.concurrency_key order by p.began))
    select o.job_id, format('began at %s with key %s, but job %s did not finish before %s', o.began, o.concurrency_key, o.before, o.before_ended) as what
    from ordered o where o.began < o.before_ended`,
  values: [serial.type],
};

/** Counts, at each start, the running jobs of the same kind, including this one. */
function limitCheck(name: string, promise: string, where: string, values: readonly unknown[]): Check {
  return {
    name,
    promise,
    values,
    query: `
      with events as (
        select t.job_id, t.at, t.id, sum(case t.event when 'start' then 1 else -1 end) over (order by t.at, t.id) as running
        from chaos.transitions t where ${where})
      select e.job_id, format('was running as number %s at %s', e.running, e.at) as what from events e where e.running > $2`,
  };
}

export const typeLimit = limitCheck(
  "limit of a type",
  `At most ${maxOfLimitedType} jobs of a limited type run at once`,
  "t.type = $1",
  [limited.type, maxOfLimitedType],
);

export const tenantLimit = limitCheck(
  "limit of a tenant",
  `At most ${maxOfLimitedTenant} jobs of a limited tenant run at once`,
  "t.tenant_id = $1",
  [limitedTenant, maxOfLimitedTenant],
);

/** Checks the same limits at this moment, by counting; for samples during a run. */
export const limitsNow: Check = {
  name: "limits now",
  promise: "No limit is exceeded at any sampled moment",
  query: `
    select null as job_id, format('%s jobs of type %s are running', count(*), j.type) as what
    from jobforge.runs j where j.type = $1 group by j.type having count(*) > $2
    union all
    select null, format('%s jobs of tenant %s are running', count(*), j.tenant_id)
    from jobforge.runs j where j.tenant_id = $3 group by j.tenant_id having count(*) > $4
    union all
    select null, format('%s jobs of key %s are running', count(*), j.concurrency_key)
    from jobforge.runs j where j.concurrency_key is not null
    group by j.tenant_id, j.type, j.concurrency_key having count(*) > 1`,
  values: [limited.type, maxOfLimitedType, limitedTenant, maxOfLimitedTenant],
};
