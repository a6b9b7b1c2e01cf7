/** The cost of schedules, counted in buffers and rows: almost none while no schedule is due. */
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { costAndResult, load, warmCost } from "../support/cost.ts";
import { explainEverything, nodesOf } from "../support/explain.ts";
import { pinSnapshot, stopClock } from "../support/flow.ts";
import { T } from "../support/kernel.ts";
import { manyDue } from "../support/schedules.ts";
import { type Settlement, settle, success } from "../support/settle.ts";

describe("the cost of schedules", () => {
  test("is a few buffers for a claim if no schedule is due, however many schedules exist", async ({ db }) => {
    const poll = "select * from jobforge_claim_jobs('w', 10, array['fetch'])";
    const none = (await warmCost(await db.connect(), poll)).buffers;
    await db.query(
      `select count(jobforge_ensure_schedule($1, 'fetch', n::text, '{"every": "1h", "anchor": "2020-01-01T00:30:00Z"}'))
       from generate_series(1, 5000) n`,
      [T],
    );
    await db.query(
      "update jobforge.schedules set next_run_at = next_run_at + interval '1 day', due_at = due_at + interval '1 day'",
    );
    await db.query("vacuum (analyze) jobforge.schedules");
    const many = (await warmCost(await db.connect(), poll)).buffers;
    expect(many).toBeLessThanOrEqual(none + 8);
  });

  test("is one index probe for a type whose schedules are all running or disabled", async ({ db }) => {
    await db.query(
      `select count(jobforge_ensure_schedule($1, 'fetch', n::text, '{"dynamic": true, "enabled": false}'))
       from generate_series(1, 2000) n`,
      [T],
    );
    const explaining = await explainEverything(await db.connect());
    const { statements } = await explaining.run("select * from jobforge_claim_jobs('w', 10, array['fetch'])");
    const visited = statements
      .flatMap(({ plan }) => nodesOf(plan))
      .filter((node) => node["Relation Name"] === "schedules")
      .reduce((sum, node) => sum + node["Actual Rows"], 0);
    expect(visited).toBe(0);
  });

  test("does not include dead index entries of fired schedules under an open snapshot, for a worker of all types", async ({
    db,
  }) => {
    await manyDue(db, 500);
    await load(db, { count: 200, tenants: 3 });
    const worker = await db.connect();
    // A hint is valid for a second, and a call may take that long on a busy machine.
    const { now } = await stopClock(db);
    await worker.query("select set_config('proof.now', $1, false)", [new Date(now).toISOString()]);
    const ask = async (hint: unknown) =>
      await costAndResult<Settlement>(worker, "jobforge_settle_jobs('w', '[]', 1, null, null, $1)", [
        hint === null ? null : JSON.stringify(hint),
      ]);
    await pinSnapshot(db);
    for (let hour = 0; hour < 12; hour += 1)
      await db.query(
        "update jobforge.schedules set (next_run_at, due_at) = (next_run_at + interval '1 hour', next_run_at + interval '1 hour')",
      );
    await db.query("update jobforge.schedules set (next_run_at, due_at) = ('2100-01-01', '2100-01-01')");
    let { result } = await ask(null);
    const costs: number[] = [];
    for (let call = 0; call < 8; call += 1) {
      const next = await ask(result.hint);
      expect(next.result.jobs).toHaveLength(1);
      costs.push(next.buffers);
      result = next.result;
    }
    expect(Math.max(...costs.slice(2)), costs.join()).toBeLessThan(150);
  });

  test("never includes a sequential scan, with plans made on empty tables", async ({ db }) => {
    const session = await db.connect();
    const explaining = await explainEverything(session);
    const scans: string[] = [];
    const call = async (sql: string, ...values: unknown[]): Promise<Record<string, unknown>[]> => {
      const { rows, statements } = await explaining.run(sql, values);
      for (const { text, plan } of statements)
        for (const node of nodesOf(plan))
          if (node["Node Type"].endsWith("Seq Scan") && node.Schema === "jobforge")
            scans.push(`${node["Relation Name"]} in ${text.slice(0, 80)}`);
      return rows;
    };
    const one = (verb: string, more = "", ...values: unknown[]): Promise<unknown> =>
      call(`select * from jobforge_${verb}($1, 'fetch', 'mine'${more})`, T, ...values);
    for (let round = 0; round < 8; round += 1) {
      await one("ensure_schedule", ", $2", { dynamic: true, reset: true });
      const [run] = await call("select * from jobforge_claim_jobs('w', 1, array['fetch'])");
      await one("run_schedule");
      await call("select jobforge_complete_job($1, 'w', 'failed')", run?.["id"]);
      const { jobs } = await settle(db, [], { claim: 1, types: ["fetch"] });
      await call("select jobforge_settle_jobs('w1', $1)", JSON.stringify(jobs.map(({ id }) => success(id))));
      for (const verb of ["disable", "enable", "lock", "get"]) await one(`${verb}_schedule`);
      await one("update_schedule", ", $2", { priority: round });
      await one("list_schedule_runs");
      await call("select * from jobforge_list_schedules($1)", T);
      await one("delete_schedule");
      if (round === 5) await manyDue(db, 500);
      if (round > 4) await db.query("update jobforge.schedules set next_run_at = null, due_at = null");
    }
    expect([...new Set(scans)]).toEqual([]);
  });
});
