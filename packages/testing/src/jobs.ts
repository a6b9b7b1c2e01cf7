/** Runs jobs inside a test, without a worker in the background and without waiting. */
import type {
  EnqueueOptions,
  JobDefinition,
  JobForge,
  JobHandler,
  JobInput,
  JobOutput,
} from "@jobforge/sdk-ts";
import { createWorker, type Logger, type TickSummary, type WorkerOptions } from "@jobforge/worker-ts";

/** Drops all lines. A test that wants to see the log passes `logger`. */
const quiet: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  isLevelEnabled: () => false,
};

/** The number of jobs after which `drain` assumes that there is no end. */
const maxJobs = 100_000;

/**
 * Runs all due jobs, and the jobs that these enqueue, until none is left. Returns how the runs ended. It does not run
 * jobs of types without a handler here, nor jobs that are due later: travel in time for those. It logs nothing unless
 * `logger` is given.
 */
export async function drain(
  forge: Pick<JobForge, "transport">,
  handlers: readonly JobHandler[],
  options: Omit<WorkerOptions, "handlers"> = {},
): Promise<TickSummary> {
  const worker = createWorker(forge, { logger: quiet, ...options, handlers });
  let total = await worker.tick();
  for (let last = total; last.claimed > 0; ) {
    last = await worker.tick();
    total = sum(total, last);
    if (total.claimed > maxJobs)
      throw new Error(
        `${maxJobs} jobs have run and there are still more: does a handler enqueue or defer jobs without end?`,
      );
  }
  return total;
}

export type RunJobOptions = EnqueueOptions & {
  readonly handlers: readonly JobHandler[];
  /** Receives the log lines of the run. Default: none. */
  readonly logger?: Logger | undefined;
};

/**
 * Enqueues one job, and runs it and all other due jobs at once. Returns its output. Rejects as `result()` does when the
 * job failed, and also when the job is still queued because it waits for a retry or for its time.
 */
export async function runJob<D extends JobDefinition>(
  forge: JobForge,
  job: D,
  input: JobInput<D>,
  options: RunJobOptions,
): Promise<JobOutput<D>> {
  const { handlers, logger = quiet, ...enqueueOptions } = options;
  const handle = await forge.enqueue(job, input, enqueueOptions);
  await drain(forge, handlers, { logger });
  const found = await forge.get(handle.id, { tenantId: options.tenantId });
  if (found?.status === "queued") {
    const why = found.lastError === undefined ? "" : ` Its last run failed: ${found.lastError}`;
    throw new Error(`The job is queued until ${found.runAt.toISOString()}.${why}`);
  }
  return await handle.result();
}

function sum(total: TickSummary, more: TickSummary): TickSummary {
  const keys = Object.keys(total) as (keyof TickSummary)[];
  return Object.fromEntries(keys.map((key) => [key, total[key] + more[key]])) as unknown as TickSummary;
}
