/** An enqueue returns the columns of the job that it has created without reading the job again. */
import type { TestDatabase } from "@jobforge/testing";
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { explainEverything } from "../support/explain.ts";
import { enqueue, type NewJob, T, workerHeartbeat } from "../support/kernel.ts";

const everything: NewJob = {
  payload: { n: [1, { two: null }] },
  max_attempts: 7,
  priority: 9,
  tags: ["x", "y"],
  subject: "a subject",
  concurrency_key: "c",
  expires_in: "1 day",
  traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01`,
};

const jobs: Record<string, NewJob> = {
  "with defaults only": {},
  "with every option": everything,
  "that is due later": { in: "1 hour" },
  "whose time has passed": { in: "-1 hour" },
  "with a payload of JSON null": { raw_payload: "null" },
  "with a large payload": { payload: { text: "x".repeat(10_000) } },
  "with the attempts of its definition": { default_attempts: 2 },
  "with keys": { idempotency_key: "i", dedupe_key: "d" },
  "with a priority below the lowest": { priority: -1000 },
};

/** A policy that caps what callers ask for, and a label of the tenant. */
async function configure(db: TestDatabase): Promise<void> {
  await db.query(`select jobforge_set_policy('a', '{"max_priority": 5, "max_attempts": 3}')`);
  await db.query(`select jobforge_set_tenant($1, '{"label": "Acme"}')`, [T]);
}

async function expectShown(db: TestDatabase, job: NewJob): Promise<Record<string, unknown>> {
  const { outcome, ...columns } = await enqueue(db, job);
  expect(outcome).toBe("created");
  expect(columns).toEqual(
    await db.value("select to_jsonb(j) from jobforge_jobs j where id = $1", [columns.id]),
  );
  return columns;
}

describe("the result of an enqueue is what the view shows, for a job", () => {
  test.for(Object.entries(jobs))("%s", async ([, job], { db }) => {
    expect((await expectShown(db, job))["status"]).toBe("queued");
    await configure(db);
    await expectShown(db, { ...job, idempotency_key: null, dedupe_key: null });
  });

  test.for(Object.entries(jobs))("%s, of an idle worker", async ([, job], { db }) => {
    await configure(db);
    const info = { instance: "i1", types: ["a"], concurrency: 2, idle: true, hand_off: ["a"], held: [] };
    await workerHeartbeat(db, "w1", info);
    const columns = await expectShown(db, { ...job, hand_off: true } as NewJob);
    const isHanded = job.in !== "1 hour" && job.dedupe_key === undefined;
    expect(columns).toMatchObject(
      isHanded ? { status: "running", locked_by: "w1", attempts: 1 } : { status: "queued", locked_by: null },
    );
    expect(columns["tenant_label"]).toBe("Acme");
  });
});

/** How many statements a call runs, itself included, when its plans are cached. */
async function statementsOf(
  db: TestDatabase,
  sql: string,
  values: () => Promise<unknown[]>,
): Promise<number> {
  const session = await explainEverything(await db.connect());
  let count = 0;
  for (let n = 0; n < 3; n += 1) count = (await session.run(sql, await values())).statements.length;
  return count;
}

test("the calls for one job that is handed to a worker run few statements", async ({ db }) => {
  const info = { instance: "i1", types: ["a"], concurrency: 9, idle: true, hand_off: ["a"], held: [] };
  await workerHeartbeat(db, "w1", info);
  const enqueueSql = "select jobforge_enqueue_job($1, 'a', p_hand_off => true)";
  await db.value(enqueueSql, [T]);
  expect(await statementsOf(db, enqueueSql, async () => [T])).toBeLessThanOrEqual(6);
  expect(await db.value("select count(*)::int from jobforge.runs where handed")).toBe(4);
  const receiveSql = "select jobforge_receive_jobs('w1', array[$1])";
  const received = statementsOf(db, receiveSql, async () => [
    await db.value("select id from jobforge.runs where heartbeat_at is null limit 1"),
  ]);
  expect(await received).toBeLessThanOrEqual(4);
  expect(await db.value("select count(*)::int from jobforge.runs where heartbeat_at is not null")).toBe(3);
});

test("an enqueue without an idle worker runs few statements", async ({ db }) => {
  const sql = "select jobforge_enqueue_job($1, 'a', p_hand_off => true)";
  await db.value(sql, [T]);
  // Before Postgres 18, the id is made by a statement.
  expect(await statementsOf(db, sql, async () => [T])).toBeLessThanOrEqual(5);
});
