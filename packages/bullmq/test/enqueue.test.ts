/** Enqueueing: keys, order and times mean the same on every store. */
import { defineJob } from "@jobforge/sdk-ts";
import { describe, expect } from "vitest";
import { z } from "zod";
import { test as base } from "../../../test/database.ts";
import { endServers, stores } from "./support/stores.ts";
import { hasRedis, T, U } from "./support/work.ts";

const patient = { timeoutMs: 40_000 };
const later = { tenantId: T, delayMs: 3_600_000 } as const;

endServers();

describe.each(stores)("on %s", (_, open, needsRedis) => {
  const test = base.skipIf(needsRedis && !hasRedis);
  const note = defineJob({ type: "note", input: z.object({ n: z.number() }) });

  test("an idempotency key makes one job per tenant and type, also after the job has succeeded", async ({
    db,
  }) => {
    const { client, start } = await open(db);
    const other = defineJob({ type: "other" });
    const ran: unknown[] = [];
    await start({
      handlers: [
        note.handle(async ({ n }) => void ran.push(n)),
        other.handle(async () => void ran.push("other")),
      ],
    });
    const key = { idempotencyKey: "k: {1}" };
    const first = await client.enqueue(note, { n: 1 }, { tenantId: T, ...key });
    const same = await Promise.all([2, 3].map((n) => client.enqueue(note, { n }, { tenantId: T, ...key })));
    expect([first, ...same].map(({ outcome }) => outcome)).toEqual(["created", "existing", "existing"]);
    expect(new Set([first, ...same].map(({ id }) => id)).size).toBe(1);
    await first.result(patient);
    expect((await client.enqueue(note, { n: 4 }, { tenantId: T, ...key })).outcome).toBe("existing");
    const others = [
      await client.enqueue(note, { n: 5 }, { tenantId: U, ...key }),
      await client.enqueue(other, {}, { tenantId: T, ...key }),
    ];
    expect(others.map(({ outcome }) => outcome)).toEqual(["created", "created"]);
    await Promise.all(others.map((job) => job.result(patient)));
    expect(ran.toSorted()).toEqual([1, 5, "other"]);
  });

  test("of many concurrent enqueues with one key, one creates the job", async ({ db }) => {
    const { client } = await open(db);
    const all = await Promise.all(
      Array.from({ length: 20 }, (_each, n) =>
        client.enqueue(note, { n }, { tenantId: T, idempotencyKey: "same" }),
      ),
    );
    expect(all.filter(({ outcome }) => outcome === "created")).toHaveLength(1);
    expect(new Set(all.map(({ id }) => id)).size).toBe(1);
  });

  test("a dedupe key is free again when its job has ended", async ({ db }) => {
    const { client, start } = await open(db);
    const dedupe = { tenantId: T, dedupeKey: "d" };
    const first = await client.enqueue(note, { n: 1 }, dedupe);
    expect(await client.enqueue(note, { n: 2 }, dedupe)).toMatchObject({ id: first.id, outcome: "existing" });
    expect((await client.enqueue(note, { n: 2 }, { ...dedupe, tenantId: U })).outcome).toBe("created");
    await start({ handlers: [note.handle(async ({ n }) => n)] });
    expect(await first.result(patient)).toBe(1);
    const second = await client.enqueue(note, { n: 3 }, dedupe);
    expect(second.outcome).toBe("created");
    expect(second.id).not.toBe(first.id);
  });

  test("replace changes the payload, the priority and the tags of a waiting job, and leaves a running one", async ({
    db,
  }) => {
    const { client, start } = await open(db);
    const dedupe = { tenantId: T, dedupeKey: "d", dedupeMode: "replace" } as const;
    const first = await client.enqueue(note, { n: 1 }, { ...dedupe, tags: ["old"], subject: "kept" });
    const again = await client.enqueue(note, { n: 2 }, { ...dedupe, tags: ["new"], priority: 7 });
    expect(again).toMatchObject({ id: first.id, outcome: "replaced" });
    expect(await first.get()).toMatchObject({
      payload: { n: 2 },
      tags: ["new"],
      priority: 7,
      subject: "kept",
    });
    let finish: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      finish = resolve;
    });
    let isRunning = false;
    await start({
      handlers: [
        note.handle(async ({ n }) => {
          isRunning = true;
          await gate;
          return n;
        }),
      ],
    });
    await expect.poll(() => isRunning).toBe(true);
    expect(await client.enqueue(note, { n: 3 }, dedupe)).toMatchObject({ id: first.id, outcome: "existing" });
    finish();
    expect(await first.result(patient)).toBe(2);
  });

  test("debounce also puts the job off", async ({ db }) => {
    const { client, start } = await open(db);
    const dedupe = { tenantId: T, dedupeKey: "d", dedupeMode: "debounce" } as const;
    const first = await client.enqueue(note, { n: 1 }, { ...dedupe, delayMs: 60_000 });
    const put = await client.enqueue(note, { n: 2 }, { ...dedupe, delayMs: 3_600_000 });
    expect(put).toMatchObject({ id: first.id, outcome: "replaced" });
    const due = (await first.get())?.runAt.getTime() ?? 0;
    expect(due - Date.now()).toBeGreaterThan(1_800_000);
    expect((await client.enqueue(note, { n: 3 }, { ...dedupe, delayMs: 1 })).outcome).toBe("replaced");
    await start({ handlers: [note.handle(async ({ n }) => n)] });
    expect(await first.result(patient)).toBe(3);
  });

  test("higher priority runs first, and equal ones in the order of their enqueue", async ({ db }) => {
    const { client, worker } = await open(db);
    const priorities = [0, -1_000_000, 5, 0, 1_000_000, 5];
    await client.enqueueMany(
      priorities.map((priority, n) => ({ job: note, input: { n }, priority })),
      { tenantId: T },
    );
    const ran: number[] = [];
    const serial = worker({
      concurrency: 1,
      prefetch: 0,
      handlers: [note.handle(async ({ n }) => void ran.push(n))],
    });
    await serial.tick();
    expect(ran).toEqual([4, 2, 5, 0, 3, 1]);
  });

  test("maxPriority caps what a caller may ask for", async ({ db }) => {
    const { client, start } = await open(db);
    const capped = defineJob({ type: "capped", maxPriority: 3 });
    await start({ handlers: [capped.handle(async () => 1)] });
    const job = await client.enqueue(capped, {}, { ...later, priority: 900 });
    expect(await job.get()).toMatchObject({ priority: 3 });
  });

  test("a job waits for its time, and an expired one does not start", async ({ db }) => {
    const { client, start } = await open(db);
    const ran: number[] = [];
    const expiresAt = new Date(Date.now() + 500);
    const expired = await client.enqueue(note, { n: 4 }, { tenantId: T, expiresAt });
    await expect.poll(() => Date.now()).toBeGreaterThan(expiresAt.getTime() + 100);
    await start({ handlers: [note.handle(async ({ n }) => void ran.push(n))] });
    const delayed = await client.enqueue(note, { n: 1 }, { tenantId: T, delayMs: 1500 });
    const at = await client.enqueue(note, { n: 2 }, { tenantId: T, runAt: new Date(Date.now() + 100) });
    const waiting = await client.enqueue(note, { n: 3 }, later);
    await expect(expired.result(patient)).rejects.toThrow("not started in time");
    await Promise.all([delayed.result(patient), at.result(patient)]);
    expect(ran).toEqual([2, 1]);
    expect(await waiting.get()).toMatchObject({ status: "queued" });
    expect(await expired.get()).toMatchObject({ status: "canceled", reason: "expired" });
    const tooEarly = { tenantId: T, delayMs: 60_000, expiresAt: new Date(Date.now() + 1000) };
    await expect(client.enqueue(note, { n: 5 }, tooEarly)).rejects.toMatchObject({ field: "expiresAt" });
  });

  test("enqueueMany keeps the order of its jobs, of several tenants and types", async ({ db }) => {
    const { client, start } = await open(db);
    const other = defineJob({ type: "o" });
    await start({ handlers: [note.handle(async ({ n }) => n), other.handle(async () => "other")] });
    const jobs = await client.enqueueMany([
      { job: note, input: { n: 1 }, tenantId: T },
      { job: other, input: {}, tenantId: U },
      { job: note, input: { n: 2 }, tenantId: U, idempotencyKey: "x" },
      { job: note, input: { n: 3 }, tenantId: U, idempotencyKey: "x" },
    ]);
    expect(jobs.map(({ outcome }) => outcome)).toEqual(["created", "created", "created", "existing"]);
    expect(await Promise.all(jobs.map((job) => job.result(patient)))).toEqual([1, "other", 2, 2]);
  });
});
