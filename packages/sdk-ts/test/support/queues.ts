/** The queue of the processing-jobs design, on JobForge and in memory, with what its tests need to know about it. */
import type { TestConnection, TestDatabase } from "@jobforge/testing";
import { T } from "../../../../sql/test/support/kernel.ts";
import {
  JobForge,
  JobForgeJobQueue,
  MemoryJobQueue,
  type NewQueueJob,
  type QueueJob,
  type StageQueue,
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

export const rigs = [
  ["JobForge", onPostgres],
  ["memory", inMemory],
] as const;

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
