/** Limits and order, from the record of the trigger. */
import { LIMITED_AT_ONCE, limited, limitedTenant, serial, TENANT_AT_ONCE } from "../jobs.ts";
import type { Check } from "./check.ts";

/** When each run began and ended; one that has not ended lasts. */
const SPANS = `
  select s.job_id, s.attempt, s.type, s.tenant_id, s.concurrency_key, s.at as began, coalesce(e.at, 'infinity') as ended
  from chaos.transitions s
  left join chaos.transitions e on (e.job_id, e.attempt, e.event) = (s.job_id, s.attempt, 'end')
  where s.event = 'start'`;

export const serialKeys: Check = {
  name: "serial keys",
  promise:
    "Jobs of one key never overlap while they hold their leases; one that has begun keeps its place until it has ended",
  query: `
    with spans as (${SPANS}), places as (
      select s.job_id, s.tenant_id, s.concurrency_key, min(s.began) as began,
        coalesce((select f.finished_at from jobforge.archive f where f.id = s.job_id), 'infinity') as place_ended, max(s.ended) as ended
      from spans s where s.type = $1 and s.concurrency_key is not null group by 1, 2, 3
    ), ordered as (
      select p.*, lag(p.job_id) over w as before, lag(greatest(p.ended, p.place_ended)) over w as before_ended
      from places p window w as (partition by p.tenant_id, p.concurrency_key order by p.began))
    select o.job_id, format('began at %s under %s, while job %s was not over before %s', o.began, o.concurrency_key, o.before, o.before_ended) as what
    from ordered o where o.began < o.before_ended`,
  values: [serial.type],
};

/** At each start, how many of the same kind were running, this one included. */
function crowded(name: string, promise: string, where: string, values: readonly unknown[]): Check {
  return {
    name,
    promise,
    values,
    query: `
      with events as (
        select t.job_id, t.at, t.id, sum(case t.event when 'start' then 1 else -1 end) over (order by t.at, t.id) as running
        from chaos.transitions t where ${where})
      select e.job_id, format('was number %s at %s', e.running, e.at) as what from events e where e.running > $2`,
  };
}

export const typeLimit = crowded(
  "limit of a type",
  `At most ${LIMITED_AT_ONCE} jobs of a limited type run at once`,
  "t.type = $1",
  [limited.type, LIMITED_AT_ONCE],
);

export const tenantLimit = crowded(
  "limit of a tenant",
  `At most ${TENANT_AT_ONCE} jobs of a limited tenant run at once`,
  "t.tenant_id = $1",
  [limitedTenant, TENANT_AT_ONCE],
);

/** The same at this moment, by counting; for samples while a run goes on. */
export const limitsNow: Check = {
  name: "limits now",
  promise: "No limit is exceeded at any moment that was looked at",
  query: `
    select null as job_id, format('%s jobs of %s run', count(*), j.type) as what
    from jobforge.jobs j where j.state = 'running' and j.type = $1 group by j.type having count(*) > $2
    union all
    select null, format('%s jobs of tenant %s run', count(*), j.tenant_id)
    from jobforge.jobs j where j.state = 'running' and j.tenant_id = $3 group by j.tenant_id having count(*) > $4
    union all
    select null, format('%s jobs of %s run', count(*), j.concurrency_key)
    from jobforge.jobs j where j.state = 'running' and j.concurrency_key is not null
    group by j.tenant_id, j.type, j.concurrency_key having count(*) > 1`,
  values: [limited.type, LIMITED_AT_ONCE, limitedTenant, TENANT_AT_ONCE],
};
