/** The short paths of settle and claim: they do what the general paths do, with few statements. */
import type { TestConnection } from "@jobforge/testing";
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { type ExplainingSession, explainEverything } from "../support/explain.ts";
import {
  auditOf,
  claim,
  enqueue,
  enqueueAll,
  enqueueMany,
  find,
  setPolicy,
  T,
  U,
} from "../support/kernel.ts";
import { type ClaimedJob, hintedWorker, idsOf, outcomes, settle, success } from "../support/settle.ts";

test("one call ends plain successes and every other kind of run, and returns the outcomes in order", async ({
  db,
}) => {
  await setPolicy(db, "audited", { audit_action: "DONE" });
  await setPolicy(db, "unkept", { keep_history: false });
  await setPolicy(db, "short", { retention_days: 1 });
  const ids = await enqueueAll(db, [
    { type: "plain" },
    { type: "audited" },
    { type: "unkept" },
    { type: "short" },
    { type: "plain", dedupe_key: "one" },
    { type: "plain", max_attempts: 1 },
    { type: "plain" },
    { type: "plain" },
  ]);
  const [plain, audited, unkept, short, deduped, failing, parent, last] = ids;
  await claim(db, "w1", { limit: 10 });
  const answer = await settle(db, [
    success(plain, { result: { n: 1 }, cost_cents: 3 }),
    success(audited),
    success(unkept),
    success(short),
    success(deduped),
    { id: failing, attempt: 1, status: "failed", error: { message: "no" } },
    success(parent, { children: [{ type: "child" }] }),
    success(last),
  ]);
  expect(answer.settled.map(({ id }) => id)).toEqual(ids);
  expect(outcomes(answer)).toEqual(ids.map(() => "ok"));
  expect(outcomes(await settle(db, [success(plain), success(last, { attempt: 2 })]))).toEqual([
    "already",
    "stale",
  ]);
  expect(await find(db, plain)).toMatchObject({ status: "succeeded", cost_cents: 3, reason: "done" });
  expect(await find(db, failing)).toMatchObject({ status: "dead" });
  expect(await auditOf(db, audited)).toEqual(["DONE"]);
  expect(await db.value("select count(*)::int from jobforge_jobs where type = 'unkept'")).toBe(0);
  expect(
    await db.query(
      "select type, keep_days from jobforge.archive where type = 'short' or id = $1 order by 1",
      [plain],
    ),
  ).toEqual([
    { type: "plain", keep_days: 30 },
    { type: "short", keep_days: 1 },
  ]);
  expect(await db.value("select count(*)::int from jobforge_jobs where type = 'child'")).toBe(1);
  expect((await enqueue(db, { type: "plain", dedupe_key: "one" })).outcome).toBe("created");
  const usage = "select sum(runs)::int as runs, sum(succeeded)::int as succeeded from jobforge.usage_deltas";
  expect(await db.query(usage)).toEqual([{ runs: 8, succeeded: 7 }]);
});

test("runs of a type without history leave their usage, and a key that they had, and nothing else", async ({
  db,
}) => {
  await setPolicy(db, "unkept", { keep_history: false, base_ms: 0 });
  const ids = await enqueueAll(db, [
    { type: "unkept" },
    { type: "unkept", idempotency_key: "once" },
    { type: "unkept", payload: { text: "x".repeat(5000) } },
    { type: "unkept", tags: ["again"] },
    { type: "kept" },
  ]);
  await claim(db, "w1", { limit: 10 });
  await settle(db, [{ id: ids[3], attempt: 1, status: "failed", error: { message: "no" } }]);
  await claim(db, "w1", { limit: 10 });
  const answer = await settle(
    db,
    ids.map((id, n) => success(id, { attempt: n === 3 ? 2 : 1, result: { n } })),
  );
  expect(outcomes(answer)).toEqual(ids.map(() => "ok"));
  expect(
    await db.query("select type from jobforge.archive union all select type from jobforge.live_rows"),
  ).toEqual([{ type: "kept" }]);
  expect(await db.query("select forget_at is not null as forgotten from jobforge.job_keys")).toEqual([
    { forgotten: true },
  ]);
  expect(
    await db.value(
      "select (select count(*) from jobforge.payloads)::int + (select count(*) from jobforge.attempts)::int",
    ),
  ).toBe(0);
  expect(await db.value("select sum(succeeded)::int from jobforge.usage_deltas where type = 'unkept'")).toBe(
    4,
  );
});

test("a call whose ends are all plain counts them for usage and quota once", async ({ db }) => {
  await db.query("select jobforge_set_tenant($1, '{\"max_pending\": 3}')", [T]);
  await enqueueMany(db, 3);
  await db.query("select jobforge_maintain()");
  await db.query("select jobforge_maintain()");
  const held = await claim(db, "w1", { limit: 3 });
  const answer = await settle(
    db,
    held.map(({ id }) => success(id)),
  );
  expect(outcomes(answer)).toEqual(["ok", "ok", "ok"]);
  await enqueueMany(db, 3);
  expect(await db.value("select sum(runs)::int from jobforge.usage_deltas")).toBe(3);
});

test("claims with a hint go by priority, then from tenant to tenant, then by age", async ({ db }) => {
  const ids = await enqueueAll(db, [
    { tenant_id: T, type: "a" },
    { tenant_id: T, type: "a" },
    { tenant_id: T, type: "a" },
    { tenant_id: U, type: "a" },
    { tenant_id: U, type: "a", priority: 5 },
    { tenant_id: U, type: "a", run_at: new Date(Date.now() + 3_600_000).toISOString() },
  ]);
  const worker = hintedWorker(db, "w1", { types: ["a"] });
  await enqueue(db, { type: "a", priority: 9 });
  await worker.call(1);
  const order: string[] = [];
  for (let n = 0; n < 5; n += 1) order.push(...idsOf(await worker.call(1)));
  expect(order[0]).toBe(ids[4]);
  expect(order.slice(1).filter((id) => id !== ids[3])).toEqual(ids.slice(0, 3));
  expect(order.slice(1, 3)).toContain(ids[3]);
  expect((await worker.call(1)).jobs).toEqual([]);
});

/** Settles the last runs and claims the next ones until plans are cached. Returns how many statements a call runs. */
async function statementsOf(session: TestConnection, limit: number): Promise<number> {
  const explaining: ExplainingSession = await explainEverything(session);
  let [held, hint, count]: [readonly ClaimedJob[], unknown, number] = [[], null, 0];
  for (let n = 0; n < 4; n += 1) {
    const results = held.map(({ id, attempts }) => ({ id, attempt: attempts, status: "succeeded" }));
    const { rows, statements } = await explaining.run<{ reply: { jobs: ClaimedJob[]; hint: unknown } }>(
      "select jobforge_settle_jobs('w', $1, $2, array['a'], null, $3) as reply",
      [JSON.stringify(results), limit, JSON.stringify(hint)],
    );
    const [row] = rows;
    [held, hint, count] = [row?.reply.jobs ?? [], row?.reply.hint, statements.length];
  }
  return count;
}

test("to end a run and claim the next job takes at most 25 statements, also where nothing is left", async ({
  db,
}) => {
  await enqueueMany(db, 10, { type: "a" });
  expect(await statementsOf(await db.connect(), 1)).toBeLessThanOrEqual(25);
  await db.query("select jobforge_settle_jobs('w', '[]', 100, array['a'])");
  expect(await statementsOf(await db.connect(), 10)).toBeLessThanOrEqual(25);
});

/** A worker of two types that was here before, and finds nothing. Returns how many statements its next call runs. */
async function emptyStatementsOf(session: TestConnection, args: readonly unknown[]): Promise<number> {
  const explaining: ExplainingSession = await explainEverything(session);
  let [hint, count]: [unknown, number] = [null, 0];
  for (let n = 0; n < 4; n += 1) {
    const { rows, statements } = await explaining.run<{ reply: { jobs: unknown[]; hint: unknown } }>(
      "select jobforge_settle_jobs('w', '[]', $1, $2, null, $3) as reply",
      [...args, JSON.stringify(hint)],
    );
    expect(rows[0]?.reply.jobs).toEqual([]);
    [hint, count] = [rows[0]?.reply.hint, statements.length];
  }
  return count;
}

test("a claim that finds nothing takes few statements for a worker of several types", async ({ db }) => {
  await enqueue(db, { type: "c" });
  await enqueue(db, { type: "b", run_at: new Date(Date.now() + 3_600_000).toISOString() });
  const one = await emptyStatementsOf(await db.connect(), [10, ["a"]]);
  const several = await emptyStatementsOf(await db.connect(), [10, ["a", "b", "d"]]);
  expect(one).toBeLessThanOrEqual(12);
  expect(several).toBeLessThanOrEqual(one + 3);
});

test("a short claim of several types finds what is ready, and when the next job is due", async ({ db }) => {
  const worker = hintedWorker(db, "w", { types: ["a", "b"] });
  expect((await worker.call(5)).jobs).toEqual([]);
  const later = await enqueue(db, { type: "b", run_at: new Date(Date.now() + 3_600_000).toISOString() });
  const { jobs, next_due_at } = await worker.call(5);
  expect(jobs).toEqual([]);
  expect(next_due_at).toBe(later["run_at"]);
  const ids = [(await enqueue(db, { type: "b" })).id, (await enqueue(db, { type: "a" })).id];
  expect(idsOf(await worker.call(5))).toEqual(ids);
  expect((await worker.call(5)).jobs).toEqual([]);
});

test("a settle that claims nothing, for no types, does not look for the next job", async ({ db }) => {
  await enqueue(db, { type: "a", run_at: new Date(Date.now() + 3_600_000).toISOString() });
  const due = (types: readonly string[]): Promise<unknown> =>
    db.value("select jobforge_settle_jobs('w', '[]', 0, $1) -> 'next_due_at'", [types]);
  expect(await due(["a"])).not.toBeNull();
  expect(await due([])).toBeNull();
});
