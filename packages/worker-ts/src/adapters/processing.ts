/** The worker loop of the processing-jobs design, for any `JobQueue`: on Postgres, in memory, or any other. */
import { type JobQueue, type QueueJob, retryDelayMs, retryPresets, sleep } from "@jobforge/sdk-ts";
import { backoff } from "../presence/outage.ts";

export interface WorkerLoopOptions {
  /** Runs a job's stage. If it throws, the job fails. */
  readonly runStage: (job: QueueJob) => Promise<unknown>;
  /** Ends the loop after the current job. Without a signal the loop never ends. */
  readonly signal?: AbortSignal | undefined;
  /** How long to sleep when the queue is empty. Default 1000. */
  readonly idleMs?: number | undefined;
  /** Called when the queue itself fails. The loop goes on after a delay, which grows with each failure. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** Claims and runs jobs, one after the other. */
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
    const seconds = retryDelayMs(retryPresets.processing, job.attempts + 1) / 1000;
    await queue.fail(job.id, String(error), seconds);
    return;
  }
  await queue.complete(job.id);
}
