/**
 * Fills every table of the kernel that grows with use by plain inserts: no index is dropped and no table is analyzed.
 */
import { load } from "./cost.ts";
import { insertHistory, makeLeaves, tenantSql } from "./history.ts";
import type { Sql } from "./kernel.ts";

/** The time span of the history. */
const historySpan = "8 days";
export const tenantCount = 20;
/** The number of running jobs, held by twenty live workers. */
export const runningJobs = 500;
const ownerSql = `(${tenantSql(`1 + n % ${tenantCount}`)})::uuid`;

/**
 * Prepares an empty database for `fillTables`: creates the leaves of the past, as maintenance would have done at that
 * time, and turns autovacuum off, so that no table is analyzed during the test. Both make sessions plan again, so they
 * come first.
 */
export async function prepareTables(db: Sql): Promise<void> {
  await makeLeaves(db, historySpan);
  const tables = await db.query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c
     where c.relnamespace = 'jobforge'::regnamespace and c.relkind = 'r'`,
  );
  for (const { name } of tables) await db.query(`alter table ${name} set (autovacuum_enabled = off)`);
}

/**
 * Writes `rows` rows of twenty tenants into the live jobs and into the archive, and traces of such jobs into the other
 * tables. No row needs maintenance: no waiting job is due, no lease is lost, and nothing has expired.
 */
export async function fillTables(db: Sql, rows: number): Promise<void> {
  // Running jobs are older than ready jobs.
  for (let n = 0; n < 20; n += 1) {
    await load(db, { count: runningJobs / 20, tenants: tenantCount, worker: `worker ${n}` });
    await db.query("select jobforge_heartbeat_worker($1)", [`worker ${n}`]);
  }
  // Prevents leases from expiring during the test on a slow machine.
  await db.query(
    "update jobforge.workers set seen_at = seen_at + interval '1 hour' where id like 'worker %'",
  );
  const quarter = Math.floor(rows / 4);
  await load(db, { count: quarter, tenants: tenantCount, due: "-3 hours" });
  await load(db, { count: quarter, tenants: tenantCount, rich: true });
  await load(db, { count: quarter, tenants: tenantCount, due: "1 day" });
  await load(db, { count: quarter, type: "other", types: 20, tenants: tenantCount });
  await insertHistory(db, {
    rows,
    span: historySpan,
    tenant: tenantSql(`1 + n % ${tenantCount}`),
    type: "case n % 3 when 0 then 'b' else 'a' end",
    status: `case n / 20 % 10 when 1 then 'dead' when 2 then 'failed' when 3 then 'canceled' else 'succeeded' end`,
    subject: "case when n % 3 = 0 then 'subject ' || n % 1000 end",
    tags: "case when n % 7 = 0 then '{x,z}' else '{}' end",
  });
  await insertTraces(db, rows);
  await insertSettings(db);
}

async function insertTraces(db: Sql, rows: number): Promise<void> {
  await db.query(
    `insert into jobforge.job_keys (tenant_id, type, idempotency_key, job_id)
     select a.tenant_id, a.type, a.id::text, a.id from jobforge.archive a`,
  );
  await db.query(
    `insert into jobforge.attempts (job_id, attempt_no, tenant_id, status, worker_id, started_at, finished_at)
     select jobforge.new_id(), 1, ${ownerSql}, 'failed', 'w', now(), now()
     from generate_series(1, $1::int) n`,
    [rows],
  );
  await db.query(
    `insert into jobforge.payloads (job_id, tenant_id, bytes, payload)
     select jobforge.new_id(), ${ownerSql}, 2, '{}' from generate_series(1, $1::int) n`,
    [rows],
  );
  await db.query(
    `insert into jobforge.audit_log (at, tenant_id, actor, action, entity_type, entity_id)
     select now(), ${ownerSql}, 'w', 'JOB_CANCELED', 'job', n::text
     from generate_series(1, $1::int) n`,
    [rows],
  );
  await db.query(
    `insert into jobforge.cancel_requests (job_id, tenant_id, worker_id, requested_at, requested_by)
     select j.id, j.tenant_id, j.worker_id, now(), 'operator' from jobforge.runs j
     where j.worker_id = 'worker 1'`,
  );
  await db.query(
    `insert into jobforge.watches (job_id, until)
     select jobforge.new_id(), clock_timestamp() + interval '9 minutes' from generate_series(1, 5000)`,
  );
}

/** Writes many bound logins and policies, gates of tenants without work, and workers that are idle for other types. */
async function insertSettings(db: Sql): Promise<void> {
  await db.query(
    `insert into jobforge.role_bindings (role_id, role, tenant_id, bound_at, bound_by)
     select 100000 + n, 'login ' || n, (${tenantSql("n")})::uuid, now(), 'operator' from generate_series(1, 5000) n`,
  );
  await db.query("insert into jobforge.policies (type) select 'type.' || n from generate_series(1, 5000) n");
  await db.query(
    `insert into jobforge.gates (scope, key, set_at, set_by)
     select 'tenant', ${tenantSql("n")}, now(), 'operator' from generate_series(5000, 5500) n`,
  );
  await db.query(
    `insert into jobforge.idle_workers (type, scope, worker_id, since, takes)
     select 'type.' || n, jobforge.all_tenants(), 'worker ' || n % 20, clock_timestamp(), false
     from generate_series(1, 5000) n`,
  );
}
