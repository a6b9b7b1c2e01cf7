/** Waits until a job in Redis has finished, by reading it again and again, less and less often. */
import {
  InvalidArgumentError,
  type Job,
  JobCanceledError,
  type JobDefinition,
  JobFailedError,
  JobNotFoundError,
  type JobOutput,
  readOutput,
  sleep,
  type WaitOptions,
  WaitTimeoutError,
} from "@jobforge/sdk-ts";
import type { ReadJob } from "./read.ts";

const firstWaitMs = 20;
const longestWaitMs = 1000;

/** The output of the job if it succeeds. Otherwise rejects as `JobHandle.result` of the SDK does. */
export async function waitForResult<D extends JobDefinition>(
  read: () => Promise<ReadJob<D> | undefined>,
  id: string,
  definition: D | undefined,
  { signal, timeoutMs }: WaitOptions,
): Promise<JobOutput<D>> {
  if (timeoutMs !== undefined && !(timeoutMs >= 0))
    throw new InvalidArgumentError("Invalid argument: timeoutMs must be 0 or more", { field: "timeoutMs" });
  const until = performance.now() + (timeoutMs ?? Number.POSITIVE_INFINITY);
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(longestWaitMs, waitMs * 1.5)) {
    signal?.throwIfAborted();
    const found = await read();
    if (found === undefined) throw new JobNotFoundError(id);
    const { job, result } = found;
    if (job.status === "succeeded") return (await readOutput(definition, result)) as JobOutput<D>;
    if (job.status === "canceled") throw new JobCanceledError(job as unknown as Job);
    if (job.status === "failed" || job.status === "dead") throw new JobFailedError(job as unknown as Job);
    const leftMs = until - performance.now();
    if (leftMs <= 0) throw new WaitTimeoutError(id, timeoutMs ?? 0);
    await sleep(Math.min(leftMs, waitMs * (0.75 + Math.random() / 2)), signal);
  }
}
