/**
 * A minimal queue in SQL with the three rooms, the columns and the indexes of JobForge: a claim moves jobs from the
 * queue to the runs, in turns over ten lanes, and a settle moves them to the finished jobs, both in one call. It has no
 * fence, no retries, no limits, no policies and no usage. The difference to JobForge is what those features cost.
 */
import type { Contender } from "./contender.ts";
import { inBatches } from "./contender.ts";

/** The tables are copies of the kernel's, so that the baseline does not fall behind when a column is added. */
const tablesSql = `
  create schema plain;
  create table plain.queue (like jobforge.queue including defaults including identity including indexes) with (
    autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_cost_delay = 0);
  create table plain.runs (like jobforge.runs including defaults including indexes) with (
    autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_cost_delay = 0);
  create table plain.finished (like jobforge.archive including defaults including indexes)`;

const laneSql = "(hashtext($1::uuid::text) & 1023) % 10";

/** Settles runs and claims jobs. Each lane gives its share first; then any lane fills up what is missing. */
const exchangeSql = `
  create function plain.exchange(p_ended uuid[], p_limit integer, p_history boolean)
  returns table (id uuid, attempts integer, payload jsonb)
  language plpgsql
  set jit = off
  set enable_seqscan = off
  set enable_bitmapscan = off
  set plan_cache_mode = force_generic_plan as $$
  declare
    v_now timestamptz := clock_timestamp();
    v_first integer := floor(random() * 10);
    v_places tid[];
  begin
    if p_history then
      with ended as (delete from plain.runs r where r.id = any (p_ended) returning r.*)
      insert into plain.finished (
        id, seq, tenant_id, type, status, reason, last_run, rank, attempts, uncounted, failures, max_attempts, budget,
        run_at, created_at, started_at, finished_at, worker_id, payload, tags, keep_days)
      select e.id, e.seq, e.tenant_id, e.type, 'succeeded', 'done', 'succeeded', e.rank, e.attempts, e.uncounted,
        e.failures, e.max_attempts, e.budget, e.run_at, e.created_at, e.started_at, v_now, e.worker_id, e.payload,
        e.tags, 30
      from ended e;
    else
      delete from plain.runs r where r.id = any (p_ended);
    end if;
    v_places := array(
      select x.place
      from generate_series(0, least(p_limit, 10) - 1) turn
      cross join lateral (
        select q.ctid as place
        from plain.queue q
        where q.state = 'ready' and q.type = 'kept' and q.rank = 0 and q.lane = (v_first + turn) % 10
        order by q.run_at, q.seq
        limit greatest(p_limit / 10, 1)
        for update skip locked
      ) x);
    if cardinality(v_places) < p_limit then
      v_places := v_places || array(
        select q.ctid
        from plain.queue q
        where q.state = 'ready' and q.type = 'kept' and q.ctid <> all (v_places)
        order by q.type, q.rank, q.lane, q.run_at, q.seq
        limit p_limit - cardinality(v_places)
        for update skip locked);
    end if;
    return query
    with taken as (delete from plain.queue q where q.ctid = any (v_places) returning q.*)
    insert into plain.runs as r (
      id, seq, tenant_id, type, rank, attempts, uncounted, failures, losses, max_attempts, budget, run_at, created_at,
      updated_at, started_at, worker_id, payload, tags, counted, bound)
    select t.id, t.seq, t.tenant_id, t.type, t.rank, t.attempts + 1, t.uncounted, t.failures, t.losses, t.max_attempts,
      t.budget, t.run_at, t.created_at, v_now, v_now, 'bench', t.payload, t.tags, false, false
    from taken t
    returning r.id, r.attempts::integer, r.payload;
  end $$`;

const enqueueSql = `
  insert into plain.queue (
    id, tenant_id, lane, type, state, max_attempts, budget, run_at, created_at, updated_at, payload)
  select jobforge.new_id(), $1, ${laneSql}, 'kept', 'ready', 5, 5, clock_timestamp(), clock_timestamp(),
    clock_timestamp(), p
  from jsonb_array_elements($2) p`;

export const baseline: Contender = {
  name: "plain tables",
  schema: "plain",
  setUp: async (admin) => {
    await admin.query(tablesSql);
    await admin.query(exchangeSql);
  },
  enqueueOne: async (client, tenant) => {
    await client.query(enqueueSql, [tenant, '[{"n": 1}]']);
  },
  enqueueBulk: async (client, count, work) => {
    await inBatches(count, work, async (tenant, size) => {
      await client.query(enqueueSql, [
        tenant,
        JSON.stringify(Array.from({ length: size }, (_, n) => ({ n }))),
      ]);
    });
  },
  drain: async (client, { batch, history }) => {
    let ended: string[] = [];
    let done = 0;
    for (;;) {
      const { rows } = await client.query<{ id: string }>("select * from plain.exchange($1, $2, $3)", [
        ended,
        batch,
        history,
      ]);
      done += ended.length;
      if (rows.length === 0) return done;
      ended = rows.map(({ id }) => id);
    }
  },
};
