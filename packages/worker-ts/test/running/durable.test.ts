/** Durable steps: handlers that save, sleep, wait and call children, and go on where they were. */
import {
  buildWorkflow,
  defineJob,
  defineWorkflow,
  type JobContext,
  type JobDefinition,
  JobForge,
  run,
  typed,
} from "@jobforge/sdk-ts";
import { drain, type TestDatabase } from "@jobforge/testing";
import { expect, vi } from "vitest";
import { z } from "zod";
import { ChildFailedError, createWorker } from "../../src/index.ts";
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

async function allOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

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

test("children that a handler has abandoned run on when it is canceled, and others are canceled", async ({
  db,
  forge,
}) => {
  const later = { delayMs: 3_600_000 };
  const bodies: Body[] = [
    (job) => job.run(child, { n: 1 }, { ...later, abandon: true }),
    (job) => job.all([job.call(child, { n: 2 }, later)], { abandon: true }),
    (job) => job.run(child, { n: 3 }, later),
    (job) => job.all([job.call(child, { n: 4 }, later)], { settled: true, abandon: false }),
  ];
  for (const body of bodies) {
    const id = await enqueue(forge);
    await runAt(db, "0", body);
    expect(await forge.cancel(id, { tenantId })).toMatchObject({ status: "canceled" });
  }
  await runAt(db, "2 hours", async () => undefined);
  const children = "select payload -> 'n' as n, status from jobforge_jobs where type = 'child' order by 1";
  expect(await db.query(children)).toEqual([
    { n: 1, status: "succeeded" },
    { n: 2, status: "succeeded" },
    { n: 3, status: "canceled" },
    { n: 4, status: "canceled" },
  ]);
});

test("a handler waits for a workflow as for a job, and gets its output", async ({ db, forge }) => {
  const double = defineWorkflow({
    name: "double",
    input: typed<{ n: number }>(),
    steps: (w, input) => {
      const first = w.step("first", child, { n: input.n });
      return w.step("second", child, { n: first.result.n });
    },
  });
  const id = await enqueue(forge);
  await runAt(db, "0", async (job) => {
    const one = await job.run(double, { n: 7 }, { subject: "sub" });
    const [two, three] = await job.all([job.call(child, { n: 2 }), job.call(double, { n: 3 })]);
    return [one.n, two.n, three.n];
  });
  expect(await forge.result(id, { tenantId })).toEqual([7, 2, 3]);
  const [, first] = await allOf(forge.workflows.list({ tenantId }));
  expect(first).toMatchObject({ name: "double", status: "succeeded", parentId: id, subject: "sub" });
});

test("a workflow that fails or is not valid is an error of the handler that waits for it", async ({
  db,
  forge,
}) => {
  const bad = buildWorkflow("bad", (w) => w.step("only", child, { n: -1 }));
  const caught: unknown[] = [];
  const id = await enqueue(forge);
  await runAt(db, "0", async (job) => {
    const [end] = await job.all([job.call(bad, {})], { settled: true });
    await job.run(bad, {}).catch((error: unknown) => caught.push(error));
    return end.status;
  });
  expect(await forge.result(id, { tenantId })).toBe("failed");
  expect(caught).toEqual([expect.any(ChildFailedError)]);
  const [error] = caught as ChildFailedError[];
  expect(error).toMatchObject({ type: "bad", jobId: undefined });
  expect(await forge.workflows.get(error?.workflowId ?? "", { tenantId })).toMatchObject({
    status: "failed",
  });

  const strict = defineWorkflow({
    name: "strict",
    input: z.object({ n: z.number() }),
    steps: (w, input) => w.step("only", child, { n: input.n }),
  });
  const refused = await enqueue(forge);
  await runAt(db, "0", (job) => job.run(strict, { n: "one" } as never));
  expect(await jobOf(db, refused)).toMatchObject({ last_error: expect.stringContaining("input") });
});

test("a step adds steps with its success, and what needs it waits for them", async ({ db, forge }) => {
  const graph = buildWorkflow("engine", (w) => {
    const engine = w.step("engine", order, { id: 1 });
    w.step("report", child, { n: 9 }, { needs: [engine] });
  });
  const started = await forge.start(graph, {}, { tenantId });
  const body: Body = async (job) => {
    job.addSteps((w) => void w.step("one", child, { n: 1 }));
    job.addSteps((w) => void w.step("two", child, { n: 2 }, { needs: [w.existing("one")] }));
    expect(() => job.addSteps((w) => void w.step("x", child, { n: 3 }), { detached: true })).toThrow(
      "detached",
    );
    expect(() => job.addSteps(() => undefined)).toThrow("at least one step");
    if (job.attempt === 1) throw new Error("not yet");
  };
  await runAt(db, "0", body);
  expect((await started.get())?.counts).toEqual({ queued: 1, blocked: 1 });
  await runAt(db, "1 hour", body);
  await started.result();
  const steps = new Map((await allOf(started.steps())).map((each) => [each.path, each]));
  const added = ["engine+", "engine+/one", "engine+/two"];
  expect([...steps.keys()].toSorted()).toEqual(["engine", ...added, "report"]);
  const decidedAt = Number(steps.get("report")?.decidedAt);
  for (const path of ["engine", ...added])
    expect(Number(steps.get(path)?.endedAt)).toBeLessThanOrEqual(decidedAt);
});

test("a step adds steps at once, and a second attempt adds none of them again", async ({ db, forge }) => {
  const started = await forge.start(
    buildWorkflow("engine", (w) => void w.step("engine", order, { id: 1 })),
    {},
    { tenantId },
  );
  const counts: unknown[] = [];
  const body: Body = async (job) => {
    counts.push(await job.addStepsNow((w) => void w.step("one", child, { n: 1 })));
    if (job.attempt === 1) throw new Error("not yet");
  };
  await runAt(db, "0", body);
  await runAt(db, "1 hour", body);
  expect(counts).toEqual([
    { added: 1, existing: 0 },
    { added: 0, existing: 1 },
  ]);
  await started.result();
  expect((await started.get())?.counts).toEqual({ succeeded: 3 });
});

test("a hook is called when a handler waits, with the name of the wait", async ({ db, forge }) => {
  const seen: unknown[] = [];
  const id = await enqueue(forge);
  const worker = createWorker(forge, {
    handlers: [order.handle((_, job) => job.sleep(3_600_000))],
    hooks: { onSuspend: ({ id, attempt, status, wait }) => seen.push({ id, attempt, status, wait }) },
  });
  await worker.tick();
  await worker.stop();
  expect(seen).toEqual([{ id, attempt: 1, status: "queued", wait: "sleep" }]);
  expect(await jobOf(db, id)).toMatchObject({ status: "queued" });
});

test("only a step of a workflow can add steps", async ({ db, forge }) => {
  const id = await enqueue(forge);
  await runAt(db, "0", async (job) => job.addSteps((w) => void w.step("one", child, { n: 1 })));
  expect(await jobOf(db, id)).toMatchObject({
    status: "failed",
    last_error: expect.stringContaining("only a step of a workflow"),
  });
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

test("a step reads the results of the steps that it needs, also of those that failed", async ({
  db,
  forge,
}) => {
  const graph = buildWorkflow("sum", (w) => {
    const sizes = w.map("size", child, [{ n: 1 }, { n: -1 }, { n: 3 }]);
    const one = w.step("one", child, { n: 7 });
    return w.step("sum", order, { id: 1 }, { needs: [run(sizes), one] });
  });
  const started = await forge.start(graph, {}, { tenantId });
  const read: unknown[] = [];
  await runAt(db, "0", async (job) => {
    for await (const item of job.results(child, "size")) read.push(item);
    for await (const item of job.results(child, "one")) read.push(item);
    await expect(job.results(child, "nowhere")[Symbol.asyncIterator]().next()).rejects.toThrow("nowhere");
  });
  expect(read).toEqual([
    { index: 0, status: "succeeded", value: { n: 1 } },
    { index: 1, status: "failed", error: expect.objectContaining({ message: "negative" }) },
    { index: 2, status: "succeeded", value: { n: 3 } },
    { index: expect.any(Number), status: "succeeded", value: { n: 7 } },
  ]);
  expect((await started.get())?.counts).toMatchObject({ failed: 2 });
});

test("a result of a step that JSON would lose is refused, and the work is not repeated", async ({
  db,
  forge,
}) => {
  const work = vi.fn(() => new Map([["a", 1]]));
  const body: Body = async (job) => {
    await expect(job.step("plain", () => ({ at: new Set([1]) }))).rejects.toThrow(
      "the result of plain.at cannot be written as JSON: a Set",
    );
    await expect(job.stepIn("inside", async () => Number.NaN)).rejects.toThrow("the result of inside cannot");
    return await job.step("charge", work, { retries: 5 });
  };
  const id = await enqueue(forge);
  for (const offset of ["0", "10 minutes", "1 hour"]) await runAt(db, offset, body);
  const { status, last_error } = await jobOf(db, id);
  expect([status, last_error]).toEqual(["dead", expect.stringContaining("the result of charge cannot")]);
  expect(work).toHaveBeenCalledOnce();
});
