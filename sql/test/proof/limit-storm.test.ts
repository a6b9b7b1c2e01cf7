/** Limits hold at every moment, whatever twenty workers do concurrently. */
import type { TestConnection, TestDatabase } from "@jobforge/testing";
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { tenant } from "../support/cost.ts";
import { connections, type Sql, setPolicy } from "../support/kernel.ts";
import { setLimit } from "../support/limits.ts";
import { type ClaimedJob, settle } from "../support/settle.ts";
import { boundLogin } from "../support/tenants.ts";

const workerCount = 20;
const jobCount = 240;

/** How many jobs may run at the same time, by the scope of the limit. */
const most: Record<string, number> = { type: 5, tenant: 4, type_tenant: 3, key: 2, "key one": 1 };

/** Returns the names of all buckets in which a run counts. */
function countsFor(job: { type: string; tenant_id: string; concurrency_key: string | null }): string[] {
  const { type, tenant_id, concurrency_key: key } = job;
  const names = [`type/${type}`, `tenant/${tenant_id}`, `type_tenant/${type}/${tenant_id}`];
  if (key === null) return names;
  return [...names, `${key.startsWith("one") ? "key one" : "key"}/${type}/${tenant_id}/${key}`];
}

const mayRun = (name: string): number => most[name.split("/")[0] ?? ""] ?? 0;

async function prepare(db: TestDatabase): Promise<void> {
  await setLimit(db, "type", "a", { max: 5 });
  await setLimit(db, "type", "*", { max: 5 });
  await setLimit(db, "tenant", "*", { max: 4 });
  await setLimit(db, "type_tenant", "*", { max: 3 });
  await setLimit(db, "key", "*", { max: 2 });
  for (let n = 0; n < 2; n += 1) await setLimit(db, "key", `one ${n}`, { max: 1 });
  for (const type of ["a", "b", "c"]) await setPolicy(db, type, { base_ms: 1, cap_ms: 5 });
}

async function produce(db: Sql, from: number, count: number): Promise<void> {
  for (let n = from; n < from + count; n += 1) {
    const which = Math.floor(n / 36) % 2;
    const key = [null, `one ${which}`, `two ${which}`][Math.floor(n / 12) % 3];
    await db.query("select jobforge_enqueue_job($1, $2, $3, p_concurrency_key => $4)", [
      tenant(1 + (n % 4)),
      ["a", "b", "c"][n % 3],
      { key },
      key,
    ]);
  }
}

/**
 * Counts the runs that workers hold, from the result of a claim to the report of the end. A run lasts longer than that.
 */
class Held {
  readonly exceeded: string[] = [];
  readonly highest = new Map<string, number>();
  readonly #now = new Map<string, number>();

  add(names: readonly string[], by: 1 | -1): void {
    for (const name of names) {
      const count = (this.#now.get(name) ?? 0) + by;
      this.#now.set(name, count);
      if (count > mayRun(name)) this.exceeded.push(`${name}: ${count}`);
      this.highest.set(name, Math.max(count, this.highest.get(name) ?? 0));
    }
  }
}

/**
 * Works as a worker: some runs succeed, some fail and are retried, some are released. A patient worker leaves each
 * transaction open for a while.
 */
async function work(
  db: TestConnection,
  name: string,
  held: Held,
  going: () => boolean,
  patient = false,
): Promise<void> {
  let jobs: ClaimedJob[] = [];
  let hint: unknown = null;
  const names = (job: ClaimedJob): string[] =>
    countsFor({ ...job, concurrency_key: (job.payload as { key: string | null }).key });
  for (let round = 0; going() || jobs.length > 0; round += 1) {
    const reports = jobs.map((job, n) => ({
      id: job.id,
      attempt: job.attempts,
      status: ["succeeded", "succeeded", "failed", "released"][(round + n) % 4],
    }));
    for (const job of jobs) held.add(names(job), -1);
    if (patient) await db.query("begin");
    const answer = await settle(db, reports, { worker: name, claim: going() ? 1 + (round % 9) : 0, hint });
    if (answer.claim_error !== undefined) throw new Error(answer.claim_error.message);
    ({ jobs, hint } = answer);
    for (const job of jobs) held.add(names(job), 1);
    if (patient) {
      for (let n = 0; n < 3; n += 1) await db.query("select");
      await db.query(round % 5 === 4 && reports.length === 0 ? "rollback" : "commit");
      if (round % 5 === 4 && reports.length === 0) for (const job of jobs.splice(0)) held.add(names(job), -1);
    }
  }
}

/** Records the highest number of concurrent runs of each bucket, as the database shows them. */
async function sample(db: Sql, highest: Map<string, number>): Promise<void> {
  const rows = await db.query<{ type: string; tenant_id: string; concurrency_key: string | null }>(
    "select type, tenant_id, concurrency_key from jobforge.runs",
  );
  const counts = new Map<string, number>();
  for (const row of rows) for (const name of countsFor(row)) counts.set(name, (counts.get(name) ?? 0) + 1);
  for (const [name, count] of counts) highest.set(name, Math.max(count, highest.get(name) ?? 0));
}

/** Lets workers do all jobs, and checks that limits held, were reached, and that no job is left. */
async function storm(
  db: TestDatabase,
  workers: readonly { connection: TestConnection; patient: boolean }[],
): Promise<void> {
  const producers = await connections(db, 4);
  const held = new Held();
  const sampled = new Map<string, number>();
  await produce(db, 0, jobCount / 2);
  let left = jobCount;
  const going = (): boolean => left > 0;
  const watch = async (): Promise<void> => {
    while (going()) {
      await sample(db, sampled);
      left = await db.value<number>("select $1 - count(*)::int from jobforge.archive", [jobCount]);
    }
  };
  await Promise.all([
    ...producers.map((producer, n) => produce(producer, jobCount / 2 + (n * jobCount) / 8, jobCount / 8)),
    ...workers.map(({ connection, patient }, n) => work(connection, `w${n}`, held, going, patient)),
    watch(),
  ]);
  expect(held.exceeded).toEqual([]);
  expect([...sampled].filter(([name, count]) => count > mayRun(name))).toEqual([]);
  // The storm must reach the limits, otherwise it proves nothing.
  for (const [what, count] of Object.entries(most)) {
    const reached = [...sampled, ...held.highest]
      .filter(([name]) => name.startsWith(`${what}/`))
      .map(([, n]) => n);
    expect(Math.max(...reached), what).toBe(count);
  }
  expect(await db.value("select count(*)::int from jobforge.live_rows")).toBe(0);
  expect(
    await db.value("select deadlocks::int from pg_stat_database where datname = current_database()"),
  ).toBe(0);
}

test("twenty workers never run more jobs than the limits allow, reach the limits, and leave no job", {
  timeout: 120_000,
}, async ({ db }) => {
  await prepare(db);
  const workers = await connections(db, workerCount);
  await storm(
    db,
    workers.map((connection) => ({ connection, patient: false })),
  );
});

test("so do ten workers and eight that are bound to tenants, half of which leave their transactions open", {
  timeout: 120_000,
}, async ({ db }) => {
  await prepare(db);
  const workers = (await connections(db, 10)).map((connection) => ({ connection, patient: false }));
  for (let n = 0; n < 8; n += 1) {
    const connection = await boundLogin(db, tenant(1 + (n % 4)), "jobforge_worker");
    workers.push({ connection, patient: n < 4 });
  }
  await storm(db, workers);
});

test("jobs of a key with a limit of one finish in order, including retries", async ({ db }) => {
  await setLimit(db, "key", "*", { max: 1 });
  await setPolicy(db, "a", { base_ms: 1, cap_ms: 5, max_attempts: 100 });
  await db.query(
    `select count(jobforge_enqueue_job($1, 'a', '{"key": "x"}', p_concurrency_key => 'one ' || n % 4))
     from generate_series(1, 120) n`,
    [tenant(1)],
  );
  let left = 120;
  const watch = async (): Promise<void> => {
    while (left > 0) left = await db.value<number>("select count(*)::int from jobforge.live_rows");
  };
  const workers = await connections(db, 10);
  await Promise.all([
    ...workers.map((worker, n) => work(worker, `w${n}`, new Held(), () => left > 0)),
    watch(),
  ]);
  const ends = await db.query<{ key: string; seqs: number[]; sorted: number[] }>(
    `select concurrency_key as key, array_agg(seq::int order by finished_at) as seqs, array_agg(seq::int order by seq) as sorted
     from jobforge.archive group by concurrency_key`,
  );
  expect(ends).toHaveLength(4);
  for (const { key, seqs, sorted } of ends) expect(seqs, key).toEqual(sorted);
});
