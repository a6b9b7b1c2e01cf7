/**
 * Checks that no job is lost or duplicated: compares what the application committed with the final state of the
 * database.
 */
import { child, keyed, parent } from "../jobs.ts";
import type { Check } from "./check.ts";

export const finishesOnce: Check = {
  name: "finishes once",
  promise: "Every job finishes exactly once, in a terminal state",
  query: `
    select j.id as job_id, format('is still %s at the end', j.state) as what from jobforge.live_rows j
    union all
    select a.id, format('has finished %s times', count(*)) from jobforge.archive a group by a.id having count(*) > 1
    union all
    select a.id, format('finished as %s, which is not a terminal state', a.status) from jobforge.archive a
    where a.status not in ('succeeded', 'failed', 'dead', 'canceled')`,
};

/** Checks at this moment that no job is in two rooms; for samples during a run. */
export const roomsNow: Check = {
  name: "rooms now",
  promise: "A job is in the queue, in the runs or in the archive, never in two of them",
  query: `
    select q.id as job_id, 'is in the queue and in the runs' as what
    from jobforge.queue q join jobforge.runs r on r.id = q.id
    union all
    select l.id, format('is %s and has finished', l.state)
    from jobforge.live_rows l
    where exists (
      select from jobforge.archive a where a.id = l.id and a.finished_at >= jobforge.earliest_finish(l.id))`,
};

export const nothingLost: Check = {
  name: "nothing lost",
  promise:
    "Every row that the application committed has its job, and every job its row, even if the reply to the commit was lost",
  query: `
    with ordered as (
      select j.id, (j.payload ->> 'order')::uuid as order_id, j.type, j.tenant_id
      from jobforge.all_jobs j where j.payload ? 'order')
    select j.id as job_id, format('order %s has %s jobs', o.id, count(j.id)) as what
    from chaos.orders o left join ordered j on j.order_id = o.id
    group by o.id, j.id having count(j.id) <> 1
    union all
    select null, format('order %s has %s jobs', j.order_id, count(*)) from ordered j group by j.order_id having count(*) > 1
    union all
    select j.id, format('its order %s was not committed', j.order_id)
    from ordered j where not exists (select from chaos.orders o where o.id = j.order_id)
    union all
    select j.id, 'does not have the type and tenant of its order'
    from ordered j join chaos.orders o on o.id = j.order_id where (j.type, j.tenant_id) <> (o.type, o.tenant_id)`,
};

export const keysOnce: Check = {
  name: "keys once",
  promise: "An idempotency key that was sent repeatedly has one job, with the id that was acknowledged",
  query: `
    with known as (select j.id, j.idempotency_key from jobforge.all_jobs j where j.type = $1)
    select k.acknowledged as job_id, format('key %s was acknowledged with this id, but its jobs are %s', k.key, array_agg(j.id)) as what
    from chaos.keys k left join known j on j.idempotency_key = k.key
    where k.acknowledged is not null
    group by k.key having array_agg(j.id) is distinct from array[k.acknowledged]
    union all
    select null, format('key %s has %s jobs', j.idempotency_key, count(*)) from known j group by j.idempotency_key having count(*) > 1`,
  values: [keyed.type],
};

export const children: Check = {
  name: "children",
  promise: "Each child exists once if its parent succeeded, and does not exist otherwise",
  query: `
    with born as (
      select (j.payload ->> 'parent')::uuid as parent, (j.payload ->> 'n')::int as n, count(*) as times
      from jobforge.all_jobs j where j.type = $2 group by 1, 2)
    select p.id as job_id, format('is %s and has the children %s; its payload asks for %s', p.status, coalesce(b.numbers, '[]'), p.payload -> 'children') as what
    from jobforge.all_jobs p
    left join (select b.parent, jsonb_agg(b.n order by b.n) as numbers, max(b.times) as times from born b group by 1) b on b.parent = p.id
    where p.type = $1
      and (b.times > 1 or coalesce(b.numbers, '[]') <> (
        select coalesce(jsonb_agg(n order by n), '[]')
        from generate_series(0, case p.status when 'succeeded' then (p.payload ->> 'children')::int else 0 end - 1) n))
    union all
    select b.parent, 'has children but does not exist' from born b
    where not exists (select from jobforge.all_jobs p where p.id = b.parent)`,
  values: [parent.type, child.type],
};

export const cancelsHold: Check = {
  name: "cancels hold",
  promise:
    "A job whose cancel was acknowledged finishes as canceled, unless its run was being settled at that moment",
  query: `
    select c.job_id, format('was canceled at %s (reply: %s) and finished as %s at %s', c.at, c.reply, coalesce(f.status, 'nothing'), f.finished_at) as what
    from chaos.cancels c left join jobforge.archive f on f.id = c.job_id
    -- finished_at is the time when the settling call began. It may have looked for cancel requests before this one.
    where f.status is distinct from 'canceled' and (c.reply = 'canceled' or f.id is null or f.finished_at > c.at)`,
};
