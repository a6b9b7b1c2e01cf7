/** Durable steps: handlers that save, sleep, wait and call children, and go on where they were. */
import { defineJob, type JobContext, type JobDefinition, JobForge, typed } from "@jobforge/sdk-ts";
import { drain, type TestDatabase } from "@jobforge/testing";
import { expect, vi } from "vitest";
import { ChildFailedError } from "../../src/index.ts";
import { attemptsOf, jobOf } from "../support/jobs.ts";
import { T, test } from "../support/work.ts";

const order = defineJob({
  type: "order",
  input: typed<{ id: number }>(),
  output: typed<unknown>(),
  retry: { baseMs: 60_000, maxAttempts: 3 },
});
const child = defineJob({ type: "child", input: typed<{ n: number }>(), output: typed<{ n: number }>() });
const tenantId = T;

type Body = (job: JobContext) => Promise<unknown>;

/** Runs what is due at an offset from now. Children return their number; a negative one fails. */
async function runAt(db: TestDatabase, offset: string, body: Body): Promise<void> {
  await using forge = new JobForge({ database: db.urlAt(offset) });
  await drain(forge, [
    order.handle((_, job) => body(job)),
    child.handle(({ n }, job) => (n < 0 ? job.fail("negative") : { n })),
  ]);
}

const enqueue = async (forge: JobForge, job: JobDefinition<string> = order): Promise<string> =>
  (await forge.enqueue(job, { id: 1 }, { tenantId })).id;

test("a step runs once: after a failure the handler goes on behind it", async ({ db, forge }) => {
  const reserve = vi.fn(() => ({ hold: "h1" }));
  const keys: string[] = [];
  const charge = vi.fn(() => "p1");
  const body: Body = async (job) => {
    const { hold } = await job.step("reserve", (step) => {
      keys.push(step.key);
      return reserve();
    });
    if (job.attempt === 1) throw new Error("no network");
    return [hold, await job.step("charge", charge)];
  };
  const id = await enqueue(forge);
  await runAt(db, "0", body);
  await runAt(db, "1 hour", body);
  expect(await forge.result(id, { tenantId })).toEqual(["h1", "p1"]);
  expect([reserve.mock.calls.length, charge.mock.calls.length]).toEqual([1, 1]);
  expect(keys).toEqual([`${id}:reserve`]);
});

test("sleeps hold no slot and cost no attempt", async ({ db, forge }) => {
  const woken: number[] = [];
  const body: Body = async (job) => {
    for (let day = 0; day < 5; day += 1) {
      await job.step("day", () => day);
      await job.sleep(86_400_000);
      woken.push(day);
    }
    return "done";
  };
  const id = await enqueue(forge);
  await runAt(db, "0", body);
  expect(await jobOf(db, id)).toMatchObject({ status: "queued" });
  expect(woken).toEqual([]);
  for (const days of [1, 2, 3, 4, 5]) await runAt(db, `${days} days 1 hour`, body);
  expect(await forge.result(id, { tenantId })).toBe("done");
  expect(await jobOf(db, id)).toMatchObject({ attempts: 6, uncounted: 5 });
});

test("a wait ends with a signal, also one that was sent before, or with its timeout", async ({
  db,
  forge,
}) => {
  const replies: unknown[] = [];
  const body: Body = async (job) => {
    const reply = await job.waitFor(["paid", "canceled"], { timeoutMs: 3_600_000 });
    replies.push(reply);
    return reply.timedOut ? "late" : reply.signal;
  };
  const early = await enqueue(forge);
  await forge.signal(early, "canceled", { why: "x" }, { tenantId });
  await runAt(db, "0", body);
  expect(await forge.result(early, { tenantId })).toBe("canceled");
  const waiting = await enqueue(forge);
  await runAt(db, "0", body);
  expect(await jobOf(db, waiting)).toMatchObject({ status: "queued" });
  await forge.signal(waiting, "paid", null, { tenantId });
  await runAt(db, "0", body);
  expect(await forge.result(waiting, { tenantId })).toBe("paid");
  const late = await enqueue(forge);
  await runAt(db, "0", body);
  await runAt(db, "2 hours", body);
  expect(await forge.result(late, { tenantId })).toBe("late");
  expect(replies).toEqual([
    { timedOut: false, signal: "canceled", payload: { why: "x" } },
    { timedOut: false, signal: "paid", payload: null },
    { timedOut: true, signal: undefined, payload: undefined },
  ]);
});

test("children run while the parent waits without a slot, and their outputs come in order", async ({
  db,
  forge,
}) => {
  const body: Body = async (job) => {
    const one = await job.run(child, { n: 7 });
    const all = await job.all([1, 2, 3].map((n) => job.call(child, { n })));
    return { one: one.n, all: all.map(({ n }) => n), none: await job.all([]) };
  };
  const id = await enqueue(forge);
  await runAt(db, "0", body);
  expect(await forge.result(id, { tenantId })).toEqual({ one: 7, all: [1, 2, 3], none: [] });
  expect(await db.value("select count(*)::int from jobforge_jobs where type = 'child'")).toBe(4);
});

test("a child that failed throws, and with settled it is a value", async ({ db, forge }) => {
  const caught: unknown[] = [];
  const body: Body = async (job) => {
    const ends = await job.all([job.call(child, { n: 1 }), job.call(child, { n: -1 })], { settled: true });
    try {
      await job.run(child, { n: -2 });
    } catch (error) {
      caught.push(error);
    }
    return ends.map(({ status }) => status);
  };
  const id = await enqueue(forge);
  await runAt(db, "0", body);
  expect(await forge.result(id, { tenantId })).toEqual(["succeeded", "failed"]);
  expect(caught).toEqual([expect.any(ChildFailedError)]);
  expect(String(caught[0])).toContain("negative");
});

test("retries of a step are its own, and a failure that is kept is thrown again", async ({ db, forge }) => {
  const pay = vi.fn(() => Promise.reject(new TypeError("declined")));
  const refund = vi.fn();
  const body: Body = async (job) => {
    try {
      await job.step("pay", pay, { retries: 2, backoffMs: 1 });
    } catch (error) {
      await job.step("refund", refund);
      await job.sleep(3_600_000);
      return (error as Error).name;
    }
    return "paid";
  };
  const id = await enqueue(forge);
  await runAt(db, "0", body);
  await runAt(db, "2 hours", body);
  expect(await forge.result(id, { tenantId })).toBe("TypeError");
  expect([pay.mock.calls.length, refund.mock.calls.length]).toEqual([3, 1]);
});

test("a long wait before a retry of a step suspends the run", async ({ db, forge }) => {
  const ask = vi.fn(() =>
    ask.mock.calls.length < 3 ? Promise.reject(new Error("busy")) : Promise.resolve(1),
  );
  const body: Body = async (job) => await job.step("ask", ask, { retries: 5, backoffMs: 60_000 });
  const id = await enqueue(forge);
  for (const offset of ["0", "5 minutes", "20 minutes"]) await runAt(db, offset, body);
  expect(await forge.result(id, { tenantId })).toBe(1);
  expect((await attemptsOf(db, id)).length).toBeGreaterThan(1);
});

test("a saga undoes in reverse what has succeeded, once", async ({ db, forge }) => {
  const done: string[] = [];
  const body: Body = async (job) =>
    await job.saga(async (saga) => {
      const undo = (what: string) => () => void done.push(`undo ${what}`);
      await saga.step("hotel", () => void done.push("hotel"), { undo: undo("hotel") });
      await saga.step("flight", () => void done.push("flight"), { undo: undo("flight") });
      await job.sleep(60_000);
      await saga.step("car", () => Promise.reject(new Error("no cars")), { retries: 0, undo: undo("car") });
    });
  const id = await enqueue(forge);
  for (const offset of ["0", "10 minutes", "1 hour", "2 hours", "3 hours"]) await runAt(db, offset, body);
  expect(await jobOf(db, id)).toMatchObject({ status: "dead", last_error: "no cars" });
  expect(done).toEqual(["hotel", "flight", "undo flight", "undo hotel"]);
});

test("writes of stepIn and its checkpoint are one commit", async ({ db, forge }) => {
  await db.query("create table shipped (id int)");
  const body: Body = async (job) => {
    await job
      .stepIn("fails", async (client) => {
        await client.query("insert into shipped values (0)");
        throw new Error("rolled back");
      })
      .catch(() => undefined);
    const rows = await job.stepIn("book", async (client) => {
      await client.query("insert into shipped values (1)");
      return (await client.query("select 1")).rows.length;
    });
    await job.sleep(60_000);
    return rows;
  };
  const id = await enqueue(forge);
  await runAt(db, "0", body);
  await runAt(db, "1 hour", body);
  expect(await forge.result(id, { tenantId })).toBe(1);
  expect(await db.query("select id from shipped")).toEqual([{ id: 1 }]);
});

test("new code meets old checkpoints: a version is new only for jobs that were not past it", async ({
  db,
  forge,
}) => {
  const old = await enqueue(forge);
  await runAt(db, "0", async (job) => {
    await job.step("price", () => 1);
    await job.sleep(60_000);
    return "old";
  });
  const fresh = await enqueue(forge);
  const changed: Body = async (job) => {
    const isNew = await job.version("v2");
    await job.step("price", () => 1);
    await job.sleep(60_000);
    return isNew;
  };
  await runAt(db, "1 hour", changed);
  await runAt(db, "2 hours", changed);
  expect(await forge.result(old, { tenantId })).toBe(false);
  expect(await forge.result(fresh, { tenantId })).toBe(true);
});

test("durable steps are refused in handlers of batches", async ({ db, forge }) => {
  const batch = defineJob({ type: "batch", retry: { maxAttempts: 1 } });
  const { id } = await forge.enqueue(batch, {}, { tenantId });
  await drain(forge, [
    batch.handleBatch(10, async (items) => {
      await items[0]?.job.step("a", () => 1);
      return items.map(() => undefined);
    }),
  ]);
  expect(await jobOf(db, id)).toMatchObject({ last_error: expect.stringContaining("batches") });
});
