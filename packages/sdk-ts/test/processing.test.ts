/** The processing-jobs design's queue, on JobForge and in memory (scenarios 38, 39, 56, 58, 59). */
import type { TestConnection, TestDatabase } from "@jobforge/testing";
import { describe, expect } from "vitest";
import { T, U } from "../../../sql/test/support/kernel.ts";
import { test } from "../../../test/database.ts";
import {
  JobForge,
  JobForgeJobQueue,
  JobNotHeldError,
  MemoryJobQueue,
  type QueueJob,
  type StageQueue,
} from "../src/index.ts";

const call = "33333333-3333-4333-8333-333333333333";
const job: Omit<QueueJob, "id" | "attempts"> = {
  org_id: T,
  call_id: call,
  stage: "extract_audio",
  payload: { path: "a.wav" },
  max_attempts: 5,
};

interface Rig {
  readonly queue: StageQueue;
  /** Moves the queue's clock, from the start of the test. */
  travel(seconds: number): Promise<void>;
  /** How many jobs there are, by stage and state, such as "analyze done". */
  states(): Promise<string[]>;
  lastError(): Promise<string | null | undefined>;
  /** Seconds from the end of its last execution until the one queued job is due. */
  dueIn(): Promise<number>;
}

const words: Readonly<Record<string, string>> = { succeeded: "done", dead: "failed", running: "processing" };

async function onPostgres(db: TestDatabase): Promise<Rig> {
  const connection: TestConnection = await db.connect();
  const forge = new JobForge({ database: connection.client });
  const jobs = async () => (await forge.list({ tenantId: T }).page()).items.toReversed();
  return {
    queue: new JobForgeJobQueue(forge),
    travel: (seconds) => connection.travel(`${seconds} seconds`),
    states: async () => (await jobs()).map(({ type, status }) => `${type} ${words[status] ?? status}`),
    lastError: async () => (await jobs())[0]?.lastError,
    dueIn: async () =>
      await connection.value<number>(
        `select extract(epoch from j.run_at - a.finished_at)::float8
         from jobforge_jobs j join jobforge_job_attempts a on a.job_id = j.id and a.attempt_no = j.attempts
         where j.status = 'queued'`,
      ),
  };
}

async function inMemory(): Promise<Rig> {
  let offset = 0;
  const now = (): number => 1_000_000 + offset;
  const queue = new MemoryJobQueue({ now });
  return {
    queue,
    travel: async (seconds) => {
      offset = seconds * 1000;
    },
    states: async () => queue.jobs.map(({ stage, status }) => `${stage} ${status}`),
    lastError: async () => queue.jobs[0]?.last_error,
    dueIn: async () =>
      ((queue.jobs.find(({ status }) => status === "queued")?.available_at ?? 0) - now()) / 1000,
  };
}

describe.each([
  ["JobForge", onPostgres],
  ["memory", inMemory],
] as const)("a queue on %s", (_, open) => {
  test("hands out a job once, and null when there is none", async ({ db }) => {
    const { queue, states } = await open(db);
    expect(await queue.claim("w1")).toBeNull();
    await queue.enqueue(job);
    const claimed = await queue.claim("w1");
    expect(claimed).toEqual({ ...job, id: expect.any(String), attempts: 0 });
    expect(await queue.claim("w2")).toBeNull();
    await queue.complete(claimed?.id ?? "");
    expect(await states()).toEqual(["extract_audio done"]);
  });

  test("retries after the seconds that fail was given, and counts the executions before", async ({ db }) => {
    const { queue, travel, dueIn } = await open(db);
    await queue.enqueue(job);
    const first = await queue.claim("w1");
    await queue.fail(first?.id ?? "", "boom", 7);
    expect(Math.abs((await dueIn()) - 7)).toBeLessThan(3);
    expect(await queue.claim("w1")).toBeNull();
    await travel(60);
    expect(await queue.claim("w1")).toMatchObject({ id: first?.id, attempts: 1 });
  });

  test("ends as failed after max_attempts executions, with the gaps that the loop asks for", async ({
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

  test("ends only what it handed out, and once", async ({ db }) => {
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

  test("puts a poll off three times at its interval, in one row, then it is done", async ({ db }) => {
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

  test("takes the error of a stage whatever characters it has", async ({ db }) => {
    const { queue, states, lastError } = await open(db);
    await queue.enqueue(job);
    const claimed = await queue.claim("w1");
    await queue.fail(claimed?.id ?? "", "a\u0000b", 1);
    expect(await states()).toEqual(["extract_audio queued"]);
    expect(["a\u0000b", "a\ufffdb"]).toContain(await lastError());
  });

  test("keeps jobs of one call and stage apart, and delays what is asked to be", async ({ db }) => {
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

/** One round of the design's worker loop: whether there was a job. */
async function step(queue: StageQueue, runStage: (running: QueueJob) => Promise<void>): Promise<boolean> {
  const running = await queue.claim("w1");
  if (running === null) return false;
  try {
    await runStage(running);
  } catch (error) {
    await queue.fail(running.id, String(error), 5);
    return true;
  }
  await queue.complete(running.id);
  return true;
}

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

test("seconds that are none are refused by name, and the job is still held", async ({ db }) => {
  await using forge = new JobForge({ database: db.url });
  const queue = new JobForgeJobQueue(forge);
  await queue.enqueue(job);
  const { id = "" } = (await queue.claim("w1")) ?? {};
  await expect(queue.fail(id, "boom", Number.NaN)).rejects.toMatchObject({ field: "backoffSeconds" });
  await expect(queue.defer(id, Number.POSITIVE_INFINITY)).rejects.toMatchObject({ field: "delaySeconds" });
  await queue.complete(id);
});

test("a late end is refused by the fence, and the job is let go", async ({ db }) => {
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
