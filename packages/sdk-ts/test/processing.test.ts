/** The queue of the processing-jobs design, on JobForge, in memory and on Redis (scenarios 38, 39, 56, 57, 59). */
import { describe, expect } from "vitest";
import { U } from "../../../sql/test/support/kernel.ts";
import { test } from "../../../test/database.ts";
import {
  JobForge,
  JobForgeJobQueue,
  JobNotHeldError,
  MemoryJobQueue,
  type NewQueueJob,
  type QueueJob,
} from "../src/index.ts";
import { call, endRedis, job, rigs, step } from "./support/queues.ts";

endRedis();

describe.each(rigs)("a queue on %s", (_, open) => {
  test("hands out a job once, and returns null if there is none", async ({ db }) => {
    const { queue, states } = await open(db);
    expect(await queue.claim("w1")).toBeNull();
    await queue.enqueue(job);
    const claimed = await queue.claim("w1");
    expect(claimed).toEqual({ ...job, id: expect.any(String), attempts: 0 });
    expect(await queue.claim("w2")).toBeNull();
    await queue.complete(claimed?.id ?? "");
    expect(await states()).toEqual(["extract_audio done"]);
  });

  test("retries after the backoff of fail, and counts earlier executions", async ({ db }) => {
    const { queue, travel, dueIn } = await open(db);
    await queue.enqueue(job);
    const first = await queue.claim("w1");
    await queue.fail(first?.id ?? "", "boom", 7);
    expect(Math.abs((await dueIn()) - 7)).toBeLessThan(3);
    expect(await queue.claim("w1")).toBeNull();
    await travel(60);
    expect(await queue.claim("w1")).toMatchObject({ id: first?.id, attempts: 1 });
  });

  test("ends a job as failed after max_attempts executions, with the waits that the loop sets", async ({
    db,
  }) => {
    const { queue, travel, states, dueIn } = await open(db);
    await queue.enqueue({ ...job, max_attempts: 8 });
    const gaps: number[] = [];
    for (let execution = 0; execution < 8; execution += 1) {
      await travel(execution * 1000);
      const claimed = await queue.claim("w1");
      expect(claimed?.attempts).toBe(execution);
      await queue.fail(claimed?.id ?? "", "boom", Math.min(600, 30 * 2 ** (claimed?.attempts ?? 0)));
      if (execution < 7) gaps.push(await dueIn());
    }
    for (const [place, gap] of [30, 60, 120, 240, 480, 600, 600].entries())
      expect(Math.abs((gaps[place] ?? 0) - gap)).toBeLessThan(5);
    expect(await states()).toEqual(["extract_audio failed"]);
    await travel(100_000);
    expect(await queue.claim("w1")).toBeNull();
  });

  test("ends only jobs that it handed out, and each of them once", async ({ db }) => {
    const { queue } = await open(db);
    await queue.enqueue(job);
    await expect(queue.complete(call)).rejects.toThrow(JobNotHeldError);
    const claimed = await queue.claim("w1");
    const id = claimed?.id ?? "";
    await queue.complete(id);
    await expect(queue.complete(id)).rejects.toThrow(JobNotHeldError);
    await expect(queue.fail(id, "late", 1)).rejects.toThrow(JobNotHeldError);
    await expect(queue.defer(id, 1)).rejects.toThrow(JobNotHeldError);
  });

  test("defers a poll three times by its interval, in one row, and then completes it", async ({ db }) => {
    const { queue, travel, states, dueIn } = await open(db);
    await queue.enqueue({ ...job, stage: "transcribe_poll", max_attempts: 50 });
    let polls = 0;
    const poll = async (running: QueueJob): Promise<void> => {
      polls += 1;
      if (polls <= 3) await queue.defer(running.id, 20);
    };
    for (let round = 0; round < 4; round += 1) {
      await travel(round * 30);
      expect(await step(queue, poll)).toBe(true);
      if (round < 3) expect(Math.abs((await dueIn()) - 20)).toBeLessThan(5);
      expect(await queue.claim("w2")).toBeNull();
    }
    expect(await states()).toEqual(["transcribe_poll done"]);
  });

  test("ends a poll that is never ready after max_attempts", async ({ db }) => {
    const { queue, travel, states } = await open(db);
    await queue.enqueue({ ...job, stage: "transcribe_poll", max_attempts: 3 });
    for (let round = 0; round < 3; round += 1) {
      await travel(round * 60);
      await step(queue, (running) => queue.defer(running.id, 20));
    }
    expect(await states()).toEqual(["transcribe_poll failed"]);
  });

  test("runs the same pipeline of stages", async ({ db }) => {
    const { queue, states } = await open(db);
    const done: string[] = [];
    const pipeline = async (running: QueueJob): Promise<void> => {
      done.push(`${running.stage} ${JSON.stringify(running.payload)}`);
      const next = {
        extract_audio: "transcribe_start",
        transcribe_start: "transcribe_poll",
        transcribe_poll: "analyze",
        analyze: undefined,
      } as const;
      const stage = next[running.stage];
      if (stage !== undefined) await queue.enqueue({ ...job, stage, payload: { after: running.stage } });
    };
    await queue.enqueue(job);
    while (await step(queue, pipeline));
    expect(done).toEqual([
      'extract_audio {"path":"a.wav"}',
      'transcribe_start {"after":"extract_audio"}',
      'transcribe_poll {"after":"transcribe_start"}',
      'analyze {"after":"transcribe_poll"}',
    ]);
    expect((await states()).every((state) => state.endsWith("done"))).toBe(true);
  });

  test("a stage that runs again finds its artifact, adds no second row, removes its input, and succeeds", async ({
    db,
  }) => {
    const { queue, travel, states } = await open(db);
    const files = new Set(["raw/a.wav"]);
    const rows: string[] = [];
    let made = 0;
    // As the design says: a path that follows from the call, and a row that is inserted once.
    const extract = async (running: QueueJob): Promise<void> => {
      const path = `audio/${running.call_id}.ogg`;
      if (!files.has(path)) {
        made += 1;
        files.add(path);
      }
      if (!rows.includes(path)) rows.push(path);
      // The process fails once, after the artifact exists and before the input is removed.
      if (running.attempts === 0) throw new Error("no connection to the storage");
      files.delete("raw/a.wav");
    };
    await queue.enqueue(job);
    expect(await step(queue, extract)).toBe(true);
    expect([...files]).toEqual(["raw/a.wav", `audio/${call}.ogg`]);
    await travel(60);
    expect(await step(queue, extract)).toBe(true);
    expect({ files: [...files], rows, made }).toEqual({
      files: [`audio/${call}.ogg`],
      rows: [`audio/${call}.ogg`],
      made: 1,
    });
    expect(await states()).toEqual(["extract_audio done"]);
  });

  test("accepts the error of a stage with any characters", async ({ db }) => {
    const { queue, states, lastError } = await open(db);
    await queue.enqueue(job);
    const claimed = await queue.claim("w1");
    await queue.fail(claimed?.id ?? "", "a\u0000b", 1);
    expect(await states()).toEqual(["extract_audio queued"]);
    expect(["a\u0000b", "a\ufffdb"]).toContain(await lastError());
  });

  test("refuses invalid seconds with the name of the field, and still holds the job", async ({ db }) => {
    const { queue, states } = await open(db);
    await expect(queue.enqueue(job, { delaySeconds: Number.NaN })).rejects.toMatchObject({
      field: "delaySeconds",
    });
    await queue.enqueue(job);
    const { id = "" } = (await queue.claim("w1")) ?? {};
    await expect(queue.fail(id, "boom", Number.NaN)).rejects.toMatchObject({ field: "backoffSeconds" });
    await expect(queue.defer(id, Number.POSITIVE_INFINITY)).rejects.toMatchObject({ field: "delaySeconds" });
    await queue.complete(id);
    expect(await states()).toEqual(["extract_audio done"]);
  });

  test("keeps jobs of one call and stage apart, and delays a job by delaySeconds", async ({ db }) => {
    const { queue, travel } = await open(db);
    await queue.enqueue(job);
    await queue.enqueue(job);
    await queue.enqueue({ ...job, org_id: U }, { delaySeconds: 50 });
    const first = await queue.claim("w1");
    const second = await queue.claim("w1");
    expect(first?.id).not.toBe(second?.id);
    expect(await queue.claim("w1")).toBeNull();
    await travel(60);
    expect(await queue.claim("w1")).toMatchObject({ org_id: U });
  });
});

test("plain JavaScript may leave max_attempts out: a job has five executions, as in the design's table", async ({
  db,
}) => {
  await using forge = new JobForge({ database: db.url });
  const { max_attempts: _, ...without } = job;
  for (const queue of [new JobForgeJobQueue(forge), new MemoryJobQueue()]) {
    await queue.enqueue(without as NewQueueJob);
    expect(await queue.claim("w1")).toMatchObject({ max_attempts: 5 });
  }
});

test("the fence refuses a late end, and the queue drops the job", async ({ db }) => {
  const connection = await db.connect();
  const forge = new JobForge({ database: connection.client });
  const queue = new JobForgeJobQueue(forge);
  await queue.enqueue(job);
  const lost = await queue.claim("w1");
  await queue.heartbeat(lost?.id ?? "");
  await connection.travel("6 minutes");
  await forge.installation.maintain();
  await expect(queue.heartbeat(lost?.id ?? "")).rejects.toThrow(JobNotHeldError);
  await expect(queue.complete(lost?.id ?? "")).rejects.toThrow("not locked by worker");
  await expect(queue.complete(lost?.id ?? "")).rejects.toThrow("is not held here");
  expect(await queue.claim("w2")).toMatchObject({ id: lost?.id, attempts: 1 });
});
