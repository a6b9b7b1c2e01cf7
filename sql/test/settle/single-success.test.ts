/** The end of one plain success has a statement of its own. It must do what the statements for many ends do. */
import type { TestDatabase } from "@jobforge/testing";
import { cloneDatabase } from "@jobforge/testing";
import { describe, expect, inject } from "vitest";
import { test } from "../../../test/database.ts";
import { explainEverything } from "../support/explain.ts";
import { claim, enqueue, type NewJob, setPolicy, T } from "../support/kernel.ts";
import { setLimit } from "../support/limits.ts";
import { outcomes, type Report, type Settlement, settle, success } from "../support/settle.ts";
import { boundLogin } from "../support/tenants.ts";

interface Case {
  readonly job?: NewJob;
  readonly end?: Report;
  /** What is configured, or happens to the run before it ends. */
  readonly before?: (db: TestDatabase, id: string) => Promise<unknown>;
  readonly setUp?: (db: TestDatabase) => Promise<unknown>;
}

const cases: Record<string, Case> = {
  "a plain job": {},
  "a result": { end: { result: { n: [1, "two"] } } },
  "a result of JSON null": { end: { result: null } },
  "a result that is too large": { end: { result: "x".repeat(1_100_000) } },
  "a small result that is large when printed": { end: { result: { n: "@wide" } } },
  "a reference": { end: { result: 1, artifact_ref: "s3://x" } },
  "a cost": { end: { cost_cents: 5 } },
  children: { end: { children: [{ type: "child" }] } },
  logs: { end: { logs: [{ message: "hello" }] }, setUp: (db) => setPolicy(db, "a", { keep_logs: "all" }) },
  "an unknown key": { end: { colour: "red" } },
  "all columns": {
    job: {
      payload: { n: 1 },
      priority: 3,
      tags: ["x", "y"],
      subject: "s",
      concurrency_key: "c",
      idempotency_key: "i",
      expires_in: "1 day",
      traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01`,
    },
  },
  "a dedupe key": { job: { dedupe_key: "d" } },
  "an audited type": { setUp: (db) => setPolicy(db, "a", { audit_action: "DONE" }) },
  "a type without history": { setUp: (db) => setPolicy(db, "a", { keep_history: false }) },
  "a type with a retention": { setUp: (db) => setPolicy(db, "a", { retention_days: 3 }) },
  "all types have a retention": { setUp: (db) => setPolicy(db, "*", { retention_days: 3 }) },
  "a tenant with a quota": {
    setUp: async (db) => {
      await db.query("select jobforge_set_tenant($1, '{\"max_pending\": 100}')", [T]);
      for (let n = 0; n < 2; n += 1) await db.query("select jobforge_maintain()");
    },
  },
  "a limit": { setUp: (db) => setLimit(db, "type", "a", { max: 100 }) },
  "a cancel request": { before: (db, id) => db.query("select jobforge_cancel_job($1, $2)", [id, T]) },
  "a watch": { before: (db, id) => db.query("select jobforge_watch_job($1, $2)", [id, T]) },
  "another attempt": { end: { attempt: 2 } },
  "an attempt that is a text": { end: { attempt: "1" } },
  "an attempt with a fraction": { end: { attempt: 1.5 } },
  "no attempt": { end: { attempt: undefined } },
  "an id that is not one": { end: { id: "none" } },
  "a status in capitals": { end: { status: "SUCCEEDED" } },
};

const written = `
  select
    (select jsonb_agg(to_jsonb(a) - '{id,seq,created_at,started_at,finished_at,run_at,expires_at,result_id}'::text[]
        || jsonb_build_object('has_result', a.result_id is not null, 'error', a.error - 'attemptedAt')) from jobforge.archive a where a.id = $1) as archive,
    (select jsonb_agg(j.state) from jobforge.live_rows j where j.id = $1) as live,
    (select jsonb_agg(a.action) from jobforge.audit_log a where a.entity_id = $1::text) as audit,
    (select count(*)::int from jobforge.job_keys k where k.job_id = $1 and k.forget_at is not null) as forgotten,
    (select count(*)::int from jobforge.dedupe_keys) as deduped,
    (select count(*)::int from jobforge.job_logs l where l.job_id = $1) as logs,
    (select count(*)::int from jobforge.queue q where q.type = 'child') as children,
    (select coalesce(sum(d.delta), 0)::int from jobforge.pending_deltas d) as pending`;

/** Settles. Puts numbers in the place of a mark that JSON.stringify cannot write. */
async function settleWide(db: TestDatabase, ends: readonly Report[]): Promise<Settlement> {
  const wide = `[${Array(10).fill("1e130000").join()}]`;
  return await db.value("select jobforge_settle_jobs('w1', $1)", [
    JSON.stringify(ends).replace('"@wide"', wide),
  ]);
}

/** Ends one run, alone or in a call that ends a run of another type as well. Returns what has become of it. */
async function ended(db: TestDatabase, { job, end, before, setUp }: Case, alone: boolean): Promise<unknown> {
  await setUp?.(db);
  const { id } = await enqueue(db, { type: "a", ...job });
  const other = await enqueue(db, { type: "b" });
  await claim(db, "w1", { limit: 10 });
  await before?.(db, id);
  const report = success(id, end);
  const answer = await settleWide(db, alone ? [report] : [report, success(other.id)]);
  // Both ways, the other run ends: what counts for the tenant is the same.
  if (alone) await settle(db, [success(other.id, { cost_cents: 0 })]);
  const [settled] = answer.settled;
  const [rows] = await db.query<Record<string, unknown>>(written, [id]);
  return {
    ...rows,
    settled: { ...settled, id: settled?.id === id ? "its own" : settled?.id },
    again: outcomes(await settleWide(db, [report])),
    usage: await db.query(
      "select runs, succeeded, failed, cost_cents from jobforge.usage_deltas where type = 'a'",
    ),
  };
}

describe("one success in a call ends as it does among others:", () => {
  test.for(Object.entries(cases))("%s", async ([, each], { db }) => {
    await using second = await cloneDatabase(inject("server"));
    expect(await ended(db, each, true)).toEqual(await ended(second, each, false));
  });
});

test("a worker bound to a tenant ends its own runs only, one at a time", async ({ db }) => {
  const bound = await boundLogin(db, T, "jobforge_worker");
  const { id } = await enqueue(db, { type: "a" });
  await claim(db, "w1");
  expect(outcomes(await settle(bound, [success(id)]))).toEqual(["stale"]);
  const own = await enqueue(db, { type: "a" });
  await claim(bound, "w1");
  expect(outcomes(await settle(bound, [success(own.id)]))).toEqual(["ok"]);
  expect(outcomes(await settle(db, [success(id)]))).toEqual(["ok"]);
});

test("to end one plain run takes six statements", async ({ db }) => {
  const session = await explainEverything(await db.connect());
  let count = 0;
  for (let n = 0; n < 3; n += 1) {
    const { id } = await enqueue(db, { type: "a" });
    await claim(db, "w1");
    const { statements, rows } = await session.run<{ reply: { settled: unknown[] } }>(
      "select jobforge_settle_jobs('w1', $1, 0, '{}') as reply",
      [JSON.stringify([success(id)])],
    );
    expect(rows[0]?.reply.settled).toMatchObject([{ outcome: "ok" }]);
    count = statements.length;
  }
  expect(count).toBeLessThanOrEqual(6);
});
