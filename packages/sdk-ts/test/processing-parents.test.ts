/** A repeated run of a stage enqueues the next stage once, by the parent of the job (scenario 58). */
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { JobForge, JobForgeJobQueue, JobNotHeldError, type QueueJob, type StageQueue } from "../src/index.ts";
import { endRedis, job, killAfterEnqueue, rigs, step } from "./support/queues.ts";

endRedis();

describe.each(rigs)("a queue on %s", (_, open) => {
  test.for([
    ["its parent is named", true],
    ["it is the only run of its call", false],
  ] as const)(
    "a repeated stage enqueues the next stages once when %s",
    async ([_reason, isNamed], { db }) => {
      const { queue, travel, states } = await open(db);
      let runs = 0;
      const runStage = async (running: QueueJob): Promise<void> => {
        if (running.stage !== "extract_audio") return;
        // Two jobs of one stage, enqueued at the same time: each has a key of its own.
        const parts = [1, 2].map((part) => ({ ...job, stage: "analyze", payload: { part, runs } }) as const);
        const options = isNamed ? { parent: running } : {};
        await Promise.all(parts.map((part) => queue.enqueue(part, options)));
        runs += 1;
        if (runs === 1) throw new Error("after the enqueue");
      };
      await queue.enqueue(job);
      while (await step(queue, runStage));
      await travel(60);
      while (await step(queue, runStage));
      expect(runs).toBe(2);
      expect(await states()).toEqual(["extract_audio done", "analyze done", "analyze done"]);
    },
  );

  test("a stage that names its parent loses no job to other code that enqueues for its call", async ({
    db,
  }) => {
    const { queue, travel, states } = await open(db);
    const ran: unknown[] = [];
    let runs = 0;
    const runStage = async (running: QueueJob): Promise<void> => {
      const { stage, payload } = running;
      if (stage === "analyze") ran.push(payload["from"]);
      if (stage !== "extract_audio") return;
      runs += 1;
      // As a request would that is served next to the loop: it knows of no parent.
      if (runs === 1) {
        await queue.enqueue({ ...job, stage: "analyze", payload: { from: "elsewhere" } });
        throw new Error("before the stage's own enqueue");
      }
      const next = { ...job, stage: "analyze", payload: { from: "the stage" } } as const;
      await queue.enqueue(next, { parent: running });
    };
    await queue.enqueue(job);
    while (await step(queue, runStage));
    await travel(60);
    while (await step(queue, runStage));
    expect(ran).toEqual(["elsewhere", "the stage"]);
    expect(await states()).toEqual(["extract_audio done", "analyze done", "analyze done"]);
  });

  test.for([
    ["each of two runs of one call enqueues its next stage once when both name their parents", true, 2],
    ["no run is guessed while the queue holds two jobs of the call, so every enqueue makes a job", false, 4],
  ] as const)("%s", async ([_title, isNamed, children], { db }) => {
    const { queue, travel, states } = await open(db);
    await queue.enqueue(job);
    await queue.enqueue(job);
    const runBoth = async (end: (id: string) => Promise<void>): Promise<void> => {
      const running = [await queue.claim("w1"), await queue.claim("w1")].filter((each) => each !== null);
      expect(running).toHaveLength(2);
      const next = { ...job, stage: "analyze" } as const;
      for (const parent of running)
        await queue.enqueue(next, { delaySeconds: 900, ...(isNamed ? { parent } : {}) });
      for (const { id } of running) await end(id);
    };
    await runBoth((id) => queue.fail(id, "after the enqueue", 5));
    await travel(60);
    await runBoth((id) => queue.complete(id));
    const [first, second, ...others] = await states();
    expect([first, second]).toEqual(["extract_audio done", "extract_audio done"]);
    expect(others).toEqual(Array(children).fill("analyze queued"));
  });

  test("a program may claim jobs of several calls and then run them", async ({ db }) => {
    const { queue, travel, states } = await open(db);
    const calls = ["c-1", "c-2"];
    for (const call_id of calls) await queue.enqueue({ ...job, call_id });
    const runBoth = async (end: (id: string) => Promise<void>): Promise<void> => {
      const claimed = await Promise.all([queue.claim("w1"), queue.claim("w1"), queue.claim("w1")]);
      for (const running of claimed) {
        if (running === null) continue;
        await queue.enqueue({ ...job, call_id: running.call_id, stage: "analyze" }, { delaySeconds: 900 });
        await end(running.id);
      }
    };
    await runBoth((id) => queue.fail(id, "after the enqueue", 5));
    await travel(60);
    await runBoth((id) => queue.complete(id));
    expect((await states()).toSorted()).toEqual([
      "analyze queued",
      "analyze queued",
      "extract_audio done",
      "extract_audio done",
    ]);
  });

  test("a parent that is not held, or was claimed again, is refused", async ({ db }) => {
    const { queue, travel, states } = await open(db);
    await queue.enqueue(job);
    const first = await queue.claim("w1");
    if (first === null) return expect.fail("nothing to claim");
    const enqueueNext = (parent: QueueJob): Promise<void> =>
      queue.enqueue({ ...job, stage: "analyze" }, { parent });
    await queue.fail(first.id, "boom", 5);
    await expect(enqueueNext(first)).rejects.toThrow("is not held here");
    await travel(60);
    const second = await queue.claim("w1");
    expect(second?.id).toBe(first.id);
    await expect(enqueueNext(first)).rejects.toThrow(JobNotHeldError);
    await expect(enqueueNext(first)).rejects.toMatchObject({ field: "parent" });
    expect(await states()).toEqual(["extract_audio processing"]);
  });
});

describe.each(rigs.filter(([name]) => name !== "memory"))("a queue on %s", (_, open) => {
  test("a crash between the enqueue of the next stage and complete makes one next stage", async ({ db }) => {
    const { queue, crash, states } = await open(db);
    if (crash === undefined) return expect.fail("this queue cannot crash");
    const runStage = async (on: StageQueue): Promise<string> => {
      const running = await on.claim("w1");
      if (running === null) return expect.fail("nothing to claim");
      await on.enqueue({ ...job, stage: "analyze" }, { parent: running, delaySeconds: 9000 });
      return running.id;
    };
    await queue.enqueue(job);
    const crashed = await runStage(queue);
    const restarted = await crash();
    expect(await runStage(restarted)).toBe(crashed);
    await expect(queue.complete(crashed)).rejects.toThrow(JobNotHeldError);
    await restarted.complete(crashed);
    expect(await states()).toEqual(["extract_audio done", "analyze queued"]);
  });

  test.for([
    ["names its parent", true],
    ["uses the design's own interface", false],
  ] as const)(
    "a process that is killed between the two leaves one next stage, if the stage %s",
    { timeout: 120_000 },
    async ([_way, isNamed], { db }) => {
      const { queue, crash, place, states } = await open(db);
      if (crash === undefined || place === undefined) return expect.fail("this queue cannot crash");
      await queue.enqueue(job);
      await killAfterEnqueue(place, isNamed);
      expect(await states()).toEqual(["extract_audio processing", "analyze queued"]);
      const restarted = await crash();
      const running = await restarted.claim("w1");
      if (running === null) return expect.fail("nothing to claim");
      expect(running).toMatchObject({ stage: "extract_audio", attempts: 1 });
      const options = { delaySeconds: 9000, ...(isNamed ? { parent: running } : {}) };
      await restarted.enqueue({ ...job, stage: "analyze" }, options);
      await restarted.complete(running.id);
      expect(await states()).toEqual(["extract_audio done", "analyze queued"]);
      expect(await restarted.claim("w1")).toBeNull();
    },
  );
});

test.for([
  ["with its parent named", true],
  ["through the design's own interface", false],
] as const)(
  "a crash between the enqueue of the next stages and complete makes each of them once, %s",
  async ([_way, isNamed], { db }) => {
    const connection = await db.connect();
    const forge = new JobForge({ database: connection.client });
    const runStage = async (queue: StageQueue): Promise<string> => {
      const running = await queue.claim("w1");
      if (running === null) return expect.fail("nothing to claim");
      const enqueue = (next: Partial<QueueJob>): Promise<void> =>
        isNamed
          ? queue.enqueue({ ...job, ...next }, { parent: running })
          : queue.enqueue({ ...job, ...next });
      for (const part of [1, 2])
        await enqueue({ stage: "transcribe_start", payload: { part, started: Math.random() } });
      await enqueue({ stage: "analyze" });
      return running.id;
    };
    await new JobForgeJobQueue(forge).enqueue(job);
    const crashed = await runStage(new JobForgeJobQueue(forge));
    await connection.travel("6 minutes");
    await forge.installation.maintain();
    const restarted = new JobForgeJobQueue(forge);
    const onlyFirst = await db.query(
      "select id from jobforge_jobs where type <> 'extract_audio' order by id",
    );
    expect(onlyFirst).toHaveLength(3);
    await forge.gates.pause({ type: "transcribe_start" });
    await forge.gates.pause({ type: "analyze" });
    expect(await runStage(restarted)).toBe(crashed);
    await restarted.complete(crashed);
    expect(await db.query("select id from jobforge_jobs where type <> 'extract_audio' order by id")).toEqual(
      onlyFirst,
    );
  },
);
