/** Checks of workflows: that each ends once, with the status that its steps give it, and in the order of its needs. */
import { flow, flowSaga, flowSum, sagaParts } from "../jobs.ts";
import type { Check } from "./check.ts";

export const workflowsEnd: Check = {
  name: "workflows",
  promise:
    "Every row that the application committed has one workflow, which ends with the status that its steps give it; no step starts before those that it needs have ended",
  query: `
    select null::uuid as job_id, format('workflow %s is %s', w.id, w.status) as what
    from jobforge.workflows w
    join jobforge.steps r on r.id = w.id
    where w.status <> case when exists (
        select from jobforge.steps s
        where s.group_id = w.id and s.status <> 'succeeded' and s.reason is distinct from 'skipped' and not s.optional)
      then 'failed' else 'succeeded' end or r.status is distinct from w.status
    union all
    select s.job_id, format('step %s of %s has not ended', s.path, s.workflow_id) from jobforge.steps s where s.status is null
    union all
    select null, format('row %s has %s workflows', coalesce(f.id::text, w.subject), count(w.id))
    from chaos.flows f
    full join (select * from jobforge.workflows w where w.name = $1) w
      on w.subject = f.id::text and w.tenant_id = f.tenant_id
    group by f.id, w.subject having count(w.id) <> 1 or count(f.id) <> 1
    union all
    select d.job_id, format('step %s was decided before %s had ended', d.path, n.path)
    from jobforge.steps d
    cross join lateral jsonb_to_recordset(d.spec -> 'needs') x(step text)
    join jobforge.steps n on n.group_id = d.group_id and n.name = x.step
    where d.spec ? 'needs' and n.ended_at > d.decided_at`,
  values: [flow.name],
};

export const joinsComplete: Check = {
  name: "joins",
  promise:
    "A join reads the result of every item of its map, and a suspended handler goes on with its children, once",
  query: `
    select s.job_id, format('counted %s good items; there are %s', s.result ->> 'good', i.good) as what
    from jobforge.steps s
    join jobforge.steps m on m.group_id = s.group_id and m.name = 'items'
    cross join lateral (
      select count(*) as good from jobforge.steps e where e.group_id = m.id and e.status = 'succeeded') i
    where s.type = $1 and s.status = 'succeeded' and (s.result ->> 'good')::int is distinct from i.good
    union all
    select s.job_id, format('has the result %s and %s children', s.result, c.children)
    from jobforge.steps s
    cross join lateral (
      select count(*) as children from jobforge.steps e
      where e.group_id = s.id and coalesce((e.spec ->> 'job')::uuid, s.id) = s.job_id) c
    where s.type = $2 and s.status = 'succeeded'
      and (s.result ->> 'notes' is distinct from '2' or s.result ->> 'parts' is distinct from $3 or c.children::text <> $3)`,
  values: [flowSum.type, flowSaga.type, String(sagaParts)],
};
