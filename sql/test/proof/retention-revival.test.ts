/** Dead jobs that are rescheduled, or that a key still refers to, when their retention ends. */
import type { TestDatabase } from "@jobforge/testing";
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  largePayload,
  leafOf,
  leaves,
  maintain,
  maintainAll,
  remembered,
  runJob,
  runWithTraces,
  tracesOf,
  travelTo,
  travelToRetirement,
} from "../support/archive.ts";
import {
  attemptsOf,
  claim,
  codeOf,
  complete,
  enqueue,
  find,
  impatient,
  reschedule,
  type Sql,
  T,
} from "../support/kernel.ts";

/** A dead job with a large payload, and functions that move a clock to shortly before or after its retention ends. */
interface Case {
  readonly id: string;
  before(db: Sql): Promise<void>;
  after(db: Sql): Promise<void>;
}

/** Creates a dead job in a leaf of its time span, which is kept as long as the last job that may be in it. */
async function inALeaf(db: TestDatabase): Promise<Case> {
  const id = await runWithTraces(db, { idempotency_key: "back" }, "dead");
  const leaf = await leafOf(db, id);
  const { finished_at } = await find(db, id);
  return {
    id,
    before: (session) => travelTo(session, "$1::timestamptz + interval '30 days - 1 minute'", [finished_at]),
    after: (session) => travelToRetirement(session, leaf, "1 minute"),
  };
}

/** Creates a dead job that finished when no leaf existed for its time. */
async function inADefaultLeaf(db: TestDatabase): Promise<Case> {
  await db.travel("400 days");
  const id = await runWithTraces(db, { idempotency_key: "back" }, "dead");
  await expect(leafOf(db, id)).rejects.toThrow("not a leaf that maintenance created");
  return {
    id,
    before: (session) => session.travel("429 days"),
    after: (session) => session.travel("431 days"),
  };
}

for (const [where, prepare] of [
  ["a leaf", inALeaf],
  ["a default leaf", inADefaultLeaf],
] as const) {
  test(`a dead job that is rescheduled before its retention ends stays complete afterwards: ${where}`, async ({
    db,
  }) => {
    const { id, before, after } = await prepare(db);
    await before(db);
    await reschedule(db, id);
    await after(db);
    await maintainAll(db);
    expect(await find(db, id)).toMatchObject({ status: "queued", payload: largePayload });
    expect(await attemptsOf(db, id)).toHaveLength(2);
    expect((await enqueue(db, { idempotency_key: "back" })).outcome).toBe("existing");
    const [job] = await claim(db);
    expect(job).toMatchObject({ id, payload: largePayload });
    await complete(db, id);
    expect((await leafOf(db, id)).branch).toBe("finished_jobs");
  });

  test(`a dead job is rescheduled with its payload and attempts or not at all: ${where}`, async ({ db }) => {
    const { id, after } = await prepare(db);
    await after(db);
    const parts: unknown[] = [];
    // Slices of one row: the job's traces are deleted first, its row in a later slice.
    for (let slices = 0; (await remembered(db, [id])).length > 0; slices += 1) {
      expect(slices).toBeLessThan(50);
      await db.query("begin");
      const code = await codeOf(reschedule(db, id));
      if (code === "ok" && (await find(db, id)).payload === null) parts.push(await tracesOf(db, [id]));
      else if (code !== "ok") expect(code).toBe("JF006");
      await db.query("rollback");
      await maintain(db, 1);
    }
    expect(parts).toEqual([]);
  });

  test(`maintenance neither waits for nor deletes a dead job that an open transaction reschedules: ${where}`, async ({
    db,
  }) => {
    const { id, before, after } = await prepare(db);
    // Does the maintenance that is due before the job's retention ends.
    await before(db);
    await maintainAll(db);
    const application = await db.connect();
    await before(application);
    await application.query("begin");
    await reschedule(application, id);

    const worker = await impatient(db);
    await after(worker);
    for (let slices = 0; slices < 5; slices += 1) expect(await codeOf(maintain(worker))).toBe("ok");
    await application.query("commit");
    await after(db);
    await maintainAll(db);
    const job = await find(db, id);
    expect([job.status, job.payload === null ? "payload lost" : "payload kept"]).toEqual([
      "queued",
      "payload kept",
    ]);
    expect(await tracesOf(db, [id])).toEqual({ keys: 1, payloads: 1, attempts: 2 });
  });

  test(`a dead job whose reschedule was rolled back is deleted: ${where}`, async ({ db }) => {
    const { id, before, after } = await prepare(db);
    await before(db);
    await maintainAll(db);
    const application = await db.connect();
    await before(application);
    await application.query("begin");
    await reschedule(application, id);
    const worker = await impatient(db);
    await after(worker);
    for (let slices = 0; slices < 5; slices += 1) expect(await codeOf(maintain(worker))).toBe("ok");
    await application.query("rollback");
    await maintainAll(worker);
    expect(await remembered(db, [id])).toEqual([]);
    expect(await tracesOf(db, [id])).toEqual({ keys: 0, payloads: 0, attempts: 0 });
  });
}

test("the retention of a job that was rescheduled and finished again starts at its new end", async ({
  db,
}) => {
  const { id, before, after } = await inALeaf(db);
  const old = await leafOf(db, id);
  await before(db);
  await maintainAll(db);
  await reschedule(db, id);
  await claim(db);
  await complete(db, id);
  await after(db);
  await maintainAll(db);
  expect((await leaves(db)).map(({ name }) => name)).not.toContain(old.name);
  expect(await find(db, id)).toMatchObject({ status: "succeeded", payload: largePayload });
  expect(await attemptsOf(db, id)).toHaveLength(3);
  await travelToRetirement(db, await leafOf(db, id));
  await maintainAll(db);
  expect(await remembered(db, [id])).toEqual([]);
  expect(await tracesOf(db, [id])).toEqual({ keys: 0, payloads: 0, attempts: 0 });
});

test("every key of a job is deleted with it, including a key that was merged by its dedupe key", async ({
  db,
}) => {
  const first = await enqueue(db, { dedupe_key: "d" });
  expect(await enqueue(db, { dedupe_key: "d", idempotency_key: "k" })).toMatchObject({ id: first.id });
  await claim(db);
  await complete(db, first.id);
  await travelToRetirement(db, await leafOf(db, first.id));
  await maintainAll(db);
  expect(await remembered(db, [first.id])).toEqual([]);
  expect(await enqueue(db, { idempotency_key: "k" })).toMatchObject({ outcome: "created", tenant_id: T });
});

test("a live job is never deleted, however old it is", async ({ db }) => {
  const queued = await enqueue(db, { payload: largePayload, idempotency_key: "old", in: "1000 days" });
  await runJob(db);
  for (const days of [50, 400, 900]) {
    await travelTo(db, "clock_timestamp() + $1::interval", [`${days} days`]);
    await maintainAll(db);
  }
  expect(await find(db, queued.id)).toMatchObject({ status: "queued", payload: largePayload });
  expect((await enqueue(db, { idempotency_key: "old" })).outcome).toBe("existing");
});
