/** What webhooks cost those who have none: buffers of an end, and the path that it takes. */
import type { TestDatabase } from "@jobforge/testing";
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claimAll, endpoint, enqueue, other, settle, T } from "./support/webhooks.ts";

async function calls(db: TestDatabase, name: string): Promise<number> {
  await db.query("select pg_stat_force_next_flush()");
  return await db.value(
    "select coalesce(sum(calls), 0)::int from pg_stat_user_functions where schemaname = 'jobforge' and funcname = $1",
    [name],
  );
}

/** How many ends of one success call `emit_events`: none if it took the short path. */
async function eventsOf(db: TestDatabase, type: string, more: object, tenant = T): Promise<number> {
  const before = await calls(db, "emit_events");
  await enqueue(db, type, more, tenant);
  for (const run of await claimAll(db, type, 1)) await settle(db, run, { status: "succeeded" });
  return (await calls(db, "emit_events")) - before;
}

test("an endpoint takes only those successes off the short path that it wants", async ({ db }) => {
  await db.query("set track_functions = 'all'");
  expect(await eventsOf(db, "mail", {})).toBe(0);
  await endpoint(db, { events: ["job.dead", "invoice.*"] });
  await endpoint(db, { job_types: ["report.*"] });
  await endpoint(db, { tags: ["eu"] });
  expect(await eventsOf(db, "mail", {})).toBe(0);
  expect(await eventsOf(db, "mail", { tags: ["eu"] }, other)).toBe(0);
  expect(await eventsOf(db, "report.daily", {})).toBe(1);
  expect(await eventsOf(db, "mail", { tags: ["eu", "x"] })).toBe(1);
  expect(await eventsOf(db, "mail", { notify: { url: "https://example.com/x" } })).toBe(1);
});

test("each call that ends jobs looks once, however many it ends", async ({ db }) => {
  await db.query("set track_functions = 'all'");
  const looksOf = async (end: () => Promise<unknown>): Promise<number> => {
    const before = await calls(db, "has_webhooks");
    await end();
    return (await calls(db, "has_webhooks")) - before;
  };
  const enqueueMany = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n += 1) await enqueue(db);
  };
  await enqueueMany(40);
  const runs = await claimAll(db, "mail", 40);
  const results = runs.map(({ id, attempts }, n) => ({
    ...{ id, attempt: attempts, status: n % 2 === 0 ? "succeeded" : "failed", retry: false },
  }));
  const settle = "select jobforge_settle_jobs('w', $1)";
  expect(await looksOf(() => db.query(settle, [JSON.stringify(results.slice(0, 20))]))).toBe(1);
  expect(await looksOf(() => db.query(settle, [JSON.stringify(results.slice(20))]))).toBe(1);
  await enqueueMany(20);
  const cancel = `select jobforge_cancel_jobs($1, '{"type": "mail"}')`;
  expect(await looksOf(() => db.query(cancel, [T]))).toBe(1);
  expect(await db.value("select count(*)::int from jobforge_jobs where finished_at is not null")).toBe(60);
});

test("a database without endpoints and notices pays one look at each of two empty tables", async ({ db }) => {
  await db.query("select jobforge.has_webhooks()");
  const [row] = await db.query<{ "QUERY PLAN": [{ Plan: Record<string, number> }] }>(
    "explain (analyze, buffers, format json) select jobforge.has_webhooks()",
  );
  const plan = row?.["QUERY PLAN"][0].Plan ?? {};
  expect(plan["Shared Hit Blocks"]).toBeLessThanOrEqual(2);
  expect(plan["Shared Read Blocks"]).toBe(0);
});
