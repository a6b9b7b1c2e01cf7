/**
 * The queue of the processing-jobs design, on JobForge, in memory and on Redis, with what its tests need to know about
 * it.
 */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { BullForge, BullJobQueue } from "@jobforge/bullmq";
import type { TestConnection, TestDatabase } from "@jobforge/testing";
import { afterAll, onTestFinished, vi } from "vitest";
import { T } from "../../../../sql/test/support/kernel.ts";
import { findRedis, type RedisServer, startRedis } from "../../../../test/redis.ts";
import {
  JobForge,
  JobForgeJobQueue,
  MemoryJobQueue,
  type NewQueueJob,
  type QueueJob,
  type StageQueue,
  stages,
} from "../../src/index.ts";

export const call = "33333333-3333-4333-8333-333333333333";
export const job: NewQueueJob = {
  org_id: T,
  call_id: call,
  stage: "extract_audio",
  payload: { path: "a.wav" },
  max_attempts: 5,
};

export interface Rig {
  readonly queue: StageQueue;
  /** Moves the queue's clock to this time after the start of the test. */
  travel(seconds: number): Promise<void>;
  /** The jobs in the order of their creation, by stage and state, such as "analyze done". */
  states(): Promise<string[]>;
  lastError(): Promise<string | null | undefined>;
  /** Seconds from the end of its last run until the only queued job is due. */
  dueIn(): Promise<number>;
  /** The process has died, and its claims have run out. Returns the queue of another process; absent in memory. */
  crash?(): Promise<StageQueue>;
  /** Where another process finds the queue, as arguments of `stage-process.ts`; absent in memory. */
  readonly place?: readonly string[];
}

const words: Readonly<Record<string, string>> = { succeeded: "done", dead: "failed", running: "processing" };

async function onPostgres(db: TestDatabase): Promise<Rig> {
  const connection: TestConnection = await db.connect();
  const forge = new JobForge({ database: connection.client });
  const jobs = async () => (await forge.list({ tenantId: T }).page()).items.toReversed();
  return {
    queue: new JobForgeJobQueue(forge),
    place: ["postgres", db.url],
    crash: async () => {
      await connection.travel("6 minutes");
      await forge.installation.maintain();
      return new JobForgeJobQueue(forge);
    },
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

let server: Promise<RedisServer> | undefined;

/** The delayed jobs of BullMQ are sorted by their due time and a counter of twelve bits. */
const ticksPerMs = 0x1000;

/** On Redis the clock is that of the process. */
async function onRedis(): Promise<Rig> {
  server ??= startRedis();
  const prefix = `q-${randomBytes(6).toString("hex")}`;
  const { url } = await server;
  const forge = new BullForge({ redis: url, prefix });
  const { client } = forge.connection;
  const own = Date.now;
  let offset = 0;
  const clock = vi.spyOn(Date, "now").mockImplementation(() => own() + offset);
  onTestFinished(async () => {
    clock.mockRestore();
    await forge.close();
  });
  const keysOf = async (end: string): Promise<string[]> => await client.keys(`{${prefix}}:*${end}`);
  const rows = async () => {
    const keys = (await keysOf("")).filter((key) => /:[0-9a-f-]{36}$/.test(key));
    const read = await Promise.all(
      keys.map(async (key) => {
        const [, , stage = "", id = ""] = /^(\{.*\}):([^:]*):(.*)$/.exec(key) ?? [];
        const created = Number(await client.hget(key, "timestamp"));
        const state = await forge.queues.of(stage, T).store.getState(id);
        return { created, stage, state, error: await client.hget(key, "failedReason") };
      }),
    );
    // Within a millisecond, the stages of a call follow each other.
    const place = ({ stage }: { stage: string }): number => stages.indexOf(stage as QueueJob["stage"]);
    return read.toSorted((a, b) => a.created - b.created || place(a) - place(b));
  };
  const bullWords: Readonly<Record<string, string>> = {
    completed: "done",
    failed: "failed",
    active: "processing",
  };
  return {
    queue: new BullJobQueue(forge),
    place: ["redis", url, prefix],
    travel: async (seconds) => {
      offset = seconds * 1000;
    },
    states: async () => (await rows()).map(({ stage, state }) => `${stage} ${bullWords[state] ?? "queued"}`),
    lastError: async () => (await rows())[0]?.error,
    dueIn: async () => {
      const [key = ""] = await keysOf(":delayed");
      const [, score = "0"] = await client.zrange(key, "0", "0", "WITHSCORES");
      return (Number(score) / ticksPerMs - Date.now()) / 1000;
    },
    crash: async () => {
      // The first check marks the jobs that have no lock, and the second one takes them back.
      for (let checks = 0; checks < 2; checks += 1) {
        await client.del(...(await keysOf(":lock")), "none");
        await client.del(...(await keysOf(":stalled-check")), "none");
        await Promise.all(
          forge.queues.all(["extract_audio", "analyze"]).map(({ store }) => store.moveStalledJobsToWait()),
        );
      }
      return new BullJobQueue(forge);
    },
  };
}

/** Ends the Redis of the file. */
export function endRedis(): void {
  afterAll(async () => void (await (await server)?.stop()));
}

type Open = (db: TestDatabase) => Promise<Rig>;

export const rigs: readonly (readonly [string, Open])[] = [
  ["JobForge", onPostgres],
  ["memory", inMemory],
  ...((await findRedis()) === undefined ? [] : [["Redis", onRedis] as const]),
];

/** One round of the design's worker loop. Returns whether there was a job. */
export async function step(
  queue: StageQueue,
  runStage: (running: QueueJob) => Promise<void>,
): Promise<boolean> {
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

/** Runs a stage in a process of its own, and kills it after it has enqueued the next stage. */
export async function killAfterEnqueue(place: readonly string[], isNamed: boolean): Promise<void> {
  const program = fileURLToPath(new URL("./stage-process.ts", import.meta.url));
  const args = ["--import", "tsx", program, String(isNamed), ...place];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  await Promise.race([once(child.stdout, "data"), ended]);
  child.kill("SIGKILL");
  const [code, signal] = await ended;
  if (signal !== "SIGKILL") throw new Error(`The process has ended by itself, with exit code ${code}`);
}
