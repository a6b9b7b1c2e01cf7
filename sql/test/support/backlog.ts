/** A database with history and live jobs, created once and cloned by the tests that measure in it. */
import { cloneDatabase, type TestDatabase, type TestServerAddress } from "@jobforge/testing";
import { load } from "./cost.ts";
import { tenantSql, withoutIndexes, writeHistory } from "./history.ts";
import type { Sql } from "./kernel.ts";

/** The jobs in the database in addition to those of type 'a' that a test claims. */
export const backlogRows = { finished: 500_000, scheduled: 200_000, paused: 200_000, other: 200_000 };

export interface Backlog {
  /** The address to clone the database from. */
  readonly address: TestServerAddress;
  drop(): Promise<void>;
}

/**
 * Creates the database: history of type 'a' and others, jobs of type 'a' that are scheduled for tomorrow, a paused
 * type, and five types that no worker handles. It is vacuumed and analyzed, as autovacuum leaves it.
 */
export async function buildBacklog(server: TestServerAddress): Promise<Backlog> {
  const db = await cloneDatabase(server);
  // Both can run at the same time, because they write different tables.
  await Promise.all([writeFinished(db), writeLive(await db.connect())]);
  await db.query("select jobforge_set_gate('type', 'paused', true)");
  await db.query("vacuum (analyze)");
  await disconnect(db, server);
  return { address: { url: server.url, template: db.name }, drop: db.drop };
}

async function writeFinished(db: TestDatabase): Promise<void> {
  await writeHistory(db, {
    rows: backlogRows.finished,
    span: "20 days",
    tenant: tenantSql("1 + n % 20"),
    type: "case n % 2 when 0 then 'a' else 'other' || n % 5 end",
  });
  await db.query(
    `insert into jobforge.job_keys (tenant_id, type, idempotency_key, job_id)
     select f.tenant_id, f.type, f.id::text, f.id from jobforge.archive f where f.seq % 5 = 0`,
  );
}

async function writeLive(db: Sql): Promise<void> {
  await withoutIndexes(db, "jobforge.queue", async () => {
    await load(db, { count: backlogRows.scheduled, type: "a", tenants: 20, due: "1 day" });
    await load(db, { count: backlogRows.paused, type: "paused", tenants: 20 });
    await load(db, { count: backlogRows.other, type: "other", types: 5, tenants: 20 });
  });
}

/** Ends all connections, because a database can be cloned only while no session is connected to it. */
async function disconnect(db: TestDatabase, server: TestServerAddress): Promise<void> {
  const maintenance = await db.connect(server.url);
  await maintenance.query("select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", [
    db.name,
  ]);
}
