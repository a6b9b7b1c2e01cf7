/** Jobs that come back, or are still meant by a key, when their time of keeping is over. */
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

/** A dead job with a large payload, and how to move a clock to a little before or after the time it is forgotten. */
interface Case {
  readonly id: string;
  before(db: Sql): Promise<void>;
  after(db: Sql): Promise<void>;
}

/** A dead job in a leaf of its own time, which is kept as long as the last job that may lie in it. */
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

/** A dead job that ended when no leaf had been made for its time. */
async function inADefaultLeaf(db: TestDatabase): Promise<Case> {
  await db.travel("400 days");
  const id = await runWithTraces(db, { idempotency_key: "back" }, "dead");
  await expect(leafOf(db, id)).rejects.toThrow("not a leaf that maintenance made");
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
  test(`a dead job that came back before its time was over stays whole when it is cleared: ${where}`, async ({
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

  test(`a dead job never comes back in part, only with all it has or not at all: ${where}`, async ({
    db,
  }) => {
    const { id, after } = await prepare(db);
    await after(db);
    const parts: unknown[] = [];
    // Slices of one: first the job's traces go, in a later one its row.
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

  test(`a dead job that an open transaction brings back is neither waited for nor cleared: ${where}`, async ({
    db,
  }) => {
    const { id, before, after } = await prepare(db);
    // What is due before it is out of the way.
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

  test(`a dead job that was almost brought back is forgotten all the same: ${where}`, async ({ db }) => {
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

test("a job that came back, ran and ended again is kept from its new end on", async ({ db }) => {
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

test("every key that leads to a job is forgotten with it, also one that met its dedupe key", async ({
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

test("a live job is never touched, however old it is", async ({ db }) => {
  const queued = await enqueue(db, { payload: largePayload, idempotency_key: "old", in: "1000 days" });
  await runJob(db);
  for (const days of [50, 400, 900]) {
    await travelTo(db, "clock_timestamp() + $1::interval", [`${days} days`]);
    await maintainAll(db);
  }
  expect(await find(db, queued.id)).toMatchObject({ status: "queued", payload: largePayload });
  expect((await enqueue(db, { idempotency_key: "old" })).outcome).toBe("existing");
});
