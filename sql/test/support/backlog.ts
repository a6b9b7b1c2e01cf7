/** A database in the middle of its life, made once and cloned by the tests that measure in it. */
import { cloneDatabase, type TestDatabase, type TestServerAddress } from "@jobforge/testing";
import { load } from "./cost.ts";
import { tenantSql, withoutIndexes, writeHistory } from "./history.ts";
import type { Sql } from "./kernel.ts";

/** What the database holds beside the jobs of type 'a' that a test claims. */
export const backlogRows = { finished: 500_000, scheduled: 200_000, paused: 200_000, other: 200_000 };

export interface Backlog {
  /** Where to clone it from. */
  readonly address: TestServerAddress;
  drop(): Promise<void>;
}

/**
 * Makes the database: history of type 'a' and others, jobs of type 'a' that are scheduled for tomorrow, a paused type, and five
 * types that nobody works on. Vacuumed and analysed, as autovacuum leaves it.
 */
export async function buildBacklog(server: TestServerAddress): Promise<Backlog> {
  const db = await cloneDatabase(server);
  // At the same time: they write different tables.
  await Promise.all([writeEnded(db), writeLive(await db.connect())]);
  await db.query("select jobforge_set_gate('type', 'paused', true)");
  await db.query("vacuum (analyze)");
  await disconnect(db, server);
  return { address: { url: server.url, template: db.name }, drop: db.drop };
}

async function writeEnded(db: TestDatabase): Promise<void> {
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
  await withoutIndexes(db, "jobforge.jobs", async () => {
    await load(db, { count: backlogRows.scheduled, type: "a", tenants: 20, due: "1 day" });
    await load(db, { count: backlogRows.paused, type: "paused", tenants: 20 });
    await load(db, { count: backlogRows.other, type: "other", types: 5, tenants: 20 });
  });
}

/** A database can be cloned only while nobody is connected to it. */
async function disconnect(db: TestDatabase, server: TestServerAddress): Promise<void> {
  const maintenance = await db.connect(server.url);
  await maintenance.query("select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", [
    db.name,
  ]);
}
