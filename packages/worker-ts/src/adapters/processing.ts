/** The worker loop of the processing-jobs design, for any `JobQueue`: on Postgres, in memory, or another. */
import type { JobQueue, QueueJob } from "@jobforge/sdk-ts";
import { backoff } from "../presence/outage.ts";

export interface WorkerLoopOptions {
  /** Runs a job's stage. What it throws fails the job. */
  readonly runStage: (job: QueueJob) => Promise<unknown>;
  /** Ends the loop, after the job at hand. Without it the loop goes on for ever. */
  readonly signal?: AbortSignal | undefined;
  /** How long to sleep when the queue is empty. Default 1000. */
  readonly idleMs?: number | undefined;
  /** Told when the queue itself fails: the loop goes on, after a pause that grows. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

const LONGEST_BACKOFF_SECONDS = 600;
const FIRST_BACKOFF_SECONDS = 30;

/** Claims and runs one job after the other. */
export async function workerLoop(
  queue: JobQueue,
  workerId: string,
  options: WorkerLoopOptions,
): Promise<void> {
  const { runStage, signal, idleMs = 1_000, onError = () => undefined } = options;
  let failures = 0;
  while (!signal?.aborted) {
    try {
      const job = await queue.claim(workerId);
      if (job === null) await sleep(idleMs, signal);
      else await runOne(queue, job, runStage);
      failures = 0;
    } catch (error) {
      onError(error);
      await sleep(backoff(failures), signal);
      failures += 1;
    }
  }
}

async function runOne(
  queue: JobQueue,
  job: QueueJob,
  runStage: WorkerLoopOptions["runStage"],
): Promise<void> {
  try {
    await runStage(job);
  } catch (error) {
    const seconds = Math.min(LONGEST_BACKOFF_SECONDS, FIRST_BACKOFF_SECONDS * 2 ** job.attempts);
    await queue.fail(job.id, String(error), seconds);
    return;
  }
  await queue.complete(job.id);
}

/** Comes back after so long, or when the signal is aborted. */
function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const wake = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", wake);
      resolve();
    };
    const timer = setTimeout(wake, ms);
    signal?.addEventListener("abort", wake, { once: true });
  });
}
