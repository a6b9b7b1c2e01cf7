/**
 * A minimal queue in SQL: a table of live jobs and a table of finished jobs, an update with SKIP LOCKED to claim, a
 * delete and an insert to finish. It has no priorities, turns of tenants, retries, fence or policies. The difference to
 * JobForge is what those features cost.
 */
import type { Contender } from "./contender.ts";
import { inBatches } from "./contender.ts";

const claimSql = `
  with picked as (
    select id from plain.jobs
    where state = 'ready' and type = 'kept' and run_at <= clock_timestamp()
    order by run_at, id
    limit $1
    for update skip locked
  )
  update plain.jobs j
  set state = 'running', worker_id = 'bench', started_at = clock_timestamp(), attempts = attempts + 1
  from picked p
  where j.id = p.id
  returning j.*`;

const finishSql = `
  with ended as (delete from plain.jobs where id = any ($1) returning *)
  insert into plain.finished select e.*, clock_timestamp() from ended e`;

const forgetSql = "delete from plain.jobs where id = any ($1)";

export const baseline: Contender = {
  name: "plain tables",
  schema: "plain",
  setUp: async (admin) => {
    await admin.query(`
      create schema plain;
      create table plain.jobs (
        id uuid primary key,
        tenant_id uuid not null,
        type text not null,
        state text not null default 'ready',
        run_at timestamptz not null default clock_timestamp(),
        worker_id text,
        started_at timestamptz,
        attempts integer not null default 0,
        payload jsonb not null
      ) with (autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_cost_delay = 0);
      create index on plain.jobs (type, run_at, id) where state = 'ready';
      create table plain.finished (like plain.jobs, finished_at timestamptz not null);
      create index on plain.finished (id);
      create index on plain.finished (tenant_id, finished_at)`);
  },
  enqueueOne: async (client, tenant) => {
    await client.query(
      `insert into plain.jobs (id, tenant_id, type, payload) values (jobforge.new_id(), $1, 'kept', '{"n": 1}')`,
      [tenant],
    );
  },
  enqueueBulk: async (client, count, work) => {
    await inBatches(count, work, async (tenant, size) => {
      await client.query(
        `insert into plain.jobs (id, tenant_id, type, payload)
         select jobforge.new_id(), $1, 'kept', p from jsonb_array_elements($2) p`,
        [tenant, JSON.stringify(Array.from({ length: size }, (_, n) => ({ n })))],
      );
    });
  },
  drain: async (client, { batch, history }) => {
    let done = 0;
    for (;;) {
      const { rows } = await client.query<{ id: string }>(claimSql, [batch]);
      if (rows.length === 0) return done;
      await client.query(history ? finishSql : forgetSql, [rows.map(({ id }) => id)]);
      done += rows.length;
    }
  },
};
