/**
 * What one tenant can create without end costs the others nothing. Tenant A has 50,000 jobs of 50,000 types and 20,000
 * jobs of 20,000 priorities, after an operator lifted its quota and a policy the cap. The calls of other tenants and of
 * shared workers must cost as much as next to the same number of jobs of one type and one priority. Cost is counted in
 * buffers.
 */
import { cloneDatabase, type TestConnection, type TestDatabase } from "@jobforge/testing";
import { beforeAll, describe, expect, inject } from "vitest";
import { test } from "../../../test/database.ts";
import { cost } from "../support/cost.ts";
import { T as A, U as B, enqueueAll, setPolicy } from "../support/kernel.ts";

const typeCount = 50_000;
const priorityCount = 20_000;

/**
 * Calls, and how many more buffers each may touch. A claim goes through at most 256 ranks that are not open, and
 * through the first 200 types. Lists of figures count up to 200 small types exactly, with up to 40 buffers each.
 */
const calls: readonly (readonly [string, string, number])[] = [
  ["a claim of a type", "jobforge_claim_jobs('w', 1, '{shared}')", 1500],
  ["a claim of several types", "jobforge_claim_jobs('w', 1, '{shared,mail,none}')", 1500],
  ["a claim of any type", "jobforge_claim_jobs('w', 1)", 4000],
  ["a claim of any type for B", `jobforge_claim_jobs('w', 1, null, '${B}')`, 3000],
  ["a claim of a type for B", `jobforge_claim_jobs('w', 1, '{shared}', '${B}')`, 1500],
  ["a heartbeat of a worker of any type", "jobforge_heartbeat_worker('w')", 3000],
  ["an enqueue of B", `jobforge_enqueue_job('${B}', 'mail')`, 20],
  ["a list of B", `jobforge_list_jobs('${B}')`, 50],
  ["a list of B's dead jobs", `jobforge_list_jobs('${B}', '{"status": "dead"}')`, 50],
  ["a search of B's jobs", `jobforge_search_jobs('{"tenant_id": "${B}"}')`, 50],
  ["B's dead groups", `jobforge_list_dead_groups('${B}')`, 50],
  ["a count of B's jobs", `jobforge_count_jobs('${B}')`, 50],
  ["B's live jobs", `jobforge_count_live('${B}')`, 50],
  ["B's statistics", `jobforge_stats('${B}')`, 500],
  ["the list of types", "jobforge_list_types()", 8000],
  ["metrics", "jobforge_metrics(clock_timestamp() - interval '1 hour')", 8000],
];

/** Returns the buffers of each call, which is undone. The lowest of a few runs counts. */
async function measure(db: TestConnection): Promise<Map<string, number>> {
  const figures = new Map<string, number>();
  for (const [name, call] of calls) {
    let least = Number.POSITIVE_INFINITY;
    for (let run = 0; run < 4; run += 1) {
      await db.query("begin");
      least = Math.min(least, (await cost(db, `select * from ${call}`)).buffers);
      await db.query("rollback");
    }
    figures.set(name, least);
  }
  return figures;
}

/** Makes a database in which A has many jobs, and B a few queued, dead and finished ones. */
async function populate(types: number, priorities: number): Promise<TestDatabase> {
  const db = await cloneDatabase(inject("server"));
  await setPolicy(db, "shared", { max_priority: 1_000_000 });
  await db.query("select jobforge_set_tenant($1, $2)", [A, { max_types: 1_000_000 }]);
  for (let n = 0; n < 20; n += 1) await db.query("select jobforge_enqueue_job($1, $2)", [B, `done${n % 4}`]);
  await db.query(
    `select jobforge_complete_job(id, 'w', 'failed', '{"message": "no"}', p_retry => false)
     from jobforge_claim_jobs('w', 20, null, $1)`,
    [B],
  );
  await enqueueAll(db, [
    { tenant_id: B, type: "shared" },
    { tenant_id: B, type: "shared", priority: -1 },
    { tenant_id: B, type: "mail" },
  ]);
  await db.query(
    `select jobforge_enqueue_jobs($1, (select jsonb_agg(jsonb_build_object('type', 'zz' || n % $2::int))
       from generate_series(1, $3::int) n))`,
    [A, types, typeCount],
  );
  await db.query(
    `select jobforge_enqueue_jobs($1, (
       select jsonb_agg(jsonb_build_object('type', 'shared', 'priority', 1 + n % $2::int)) from generate_series(1, $3::int) n))`,
    [A, priorities, priorityCount],
  );
  await db.query("select jobforge_maintain()");
  await db.query("vacuum (analyze) jobforge.queue, jobforge.runs, jobforge.tenant_types");
  return db;
}

describe("next to a tenant with 50,000 types and 20,000 priorities", () => {
  let few: TestDatabase;
  let many: TestDatabase;
  beforeAll(async () => {
    [few, many] = [await populate(1, 1), await populate(typeCount, priorityCount)];
    return async () => {
      await few.drop();
      await many.drop();
    };
  }, 120_000);

  async function compare(): Promise<void> {
    const [before, after] = [await measure(await few.connect()), await measure(await many.connect())];
    const report = calls.map(([name]) => `${name}: ${before.get(name)} -> ${after.get(name)}`).join("\n");
    if (process.env["JOBFORGE_PROOF_REPORT"] !== undefined) process.stderr.write(`${report}\n`);
    for (const [name, , more] of calls)
      expect(after.get(name), `${name}\n${report}`).toBeLessThanOrEqual((before.get(name) ?? 0) + more);
  }

  test.sequential("calls cost the same while its jobs are queued", async () => {
    await compare();
  });

  test.sequential("calls cost the same while it is paused, and shared workers get the others' jobs", async () => {
    for (const db of [few, many]) await db.query("select jobforge_set_gate('tenant', $1, true)", [A]);
    await compare();
    const claimed = await many.query(
      "select tenant_id, priority from jobforge_claim_jobs('w', 5, '{shared}')",
    );
    expect(claimed).toEqual([
      { tenant_id: B, priority: 0 },
      { tenant_id: B, priority: -1 },
    ]);
    expect(await many.query("select tenant_id, type from jobforge_claim_jobs('w', 5)")).toEqual([
      { tenant_id: B, type: "mail" },
    ]);
    for (const db of [few, many]) await db.query("select jobforge_set_gate('tenant', $1, false)", [A]);
  });

  test.sequential("calls cost the same when its jobs have ended", async () => {
    for (const db of [few, many])
      for (let n = 0; n < 7; n += 1)
        await db.query(`select jobforge_cancel_jobs($1, '{"status": "queued"}', 10000)`, [A]);
    for (const db of [few, many])
      await db.query("vacuum (analyze) jobforge.queue, jobforge.runs, jobforge.archive");
    await compare();
  }, 300_000);
});
