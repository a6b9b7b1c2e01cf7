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
  /**
   * How often to renew the claim of the job that runs, if the queue has `heartbeat`. Default 30,000: a claim lasts five
   * minutes, and a stage may take longer.
   */
  readonly heartbeatMs?: number | undefined;
  /** Called when the queue itself fails. The loop goes on after a delay, which grows with each failure. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** Claims and runs jobs, one after the other. */
export async function workerLoop(
  queue: JobQueue,
  workerId: string,
  options: WorkerLoopOptions,
): Promise<void> {
  const { signal, idleMs = 1_000, onError = () => undefined } = options;
  let failures = 0;
  while (!signal?.aborted) {
    try {
      const job = await queue.claim(workerId);
      if (job === null) await sleep(idleMs, signal);
      else await runOne(queue, job, options);
      failures = 0;
    } catch (error) {
      onError(error);
      await sleep(backoff(failures), signal);
      failures += 1;
    }
  }
}

async function runOne(queue: JobQueue, job: QueueJob, options: WorkerLoopOptions): Promise<void> {
  const ended = new AbortController();
  const keeping = Promise.allSettled([keepClaim(queue, job.id, options, ended.signal)]);
  const [stage] = await Promise.allSettled([(async () => await options.runStage(job))()]);
  ended.abort();
  // A heartbeat that arrives after the end of the run would be refused.
  await keeping;
  if (stage.status === "fulfilled") return await queue.complete(job.id);
  const seconds = retryDelayMs(retryPresets.processing, job.attempts + 1) / 1000;
  await queue.fail(job.id, String(stage.reason), seconds);
}

/** Renews the claim of a job until the signal is aborted. If the claim is lost, `complete` and `fail` will say so. */
async function keepClaim(
  queue: JobQueue,
  jobId: string,
  { heartbeatMs = 30_000, onError }: WorkerLoopOptions,
  signal: AbortSignal,
): Promise<void> {
  if (queue.heartbeat === undefined) return;
  for (;;) {
    await sleep(heartbeatMs, signal);
    if (signal.aborted) return;
    try {
      await queue.heartbeat(jobId);
    } catch (error) {
      onError?.(error);
    }
  }
}
