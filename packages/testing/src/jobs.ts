/** Runs jobs inside a test, where it stands: no worker in the background, nothing to wait for. */
import type {
  EnqueueOptions,
  JobDefinition,
  JobForge,
  JobHandler,
  JobInput,
  JobOutput,
} from "@jobforge/sdk-ts";
import { createWorker, type TickSummary, type WorkerOptions } from "@jobforge/worker-ts";

/** How many jobs a test may run before it is taken for one that never ends. */
const ENDLESS = 100_000;

/**
 * Runs everything that is due, and what comes of it, until nothing is left. Answers how the runs ended. Jobs of types without a
 * handler here are left alone, and so is what is due later: travel in time for that.
 */
export async function drain(
  forge: Pick<JobForge, "transport">,
  handlers: readonly JobHandler[],
  options: Omit<WorkerOptions, "handlers"> = {},
): Promise<TickSummary> {
  const worker = createWorker(forge, { ...options, handlers });
  let total = await worker.tick();
  for (let last = total; last.claimed > 0; ) {
    last = await worker.tick();
    total = sum(total, last);
    if (total.claimed > ENDLESS)
      throw new Error(
        `${ENDLESS} jobs ran and there are still more: does a handler enqueue or defer without end?`,
      );
  }
  return total;
}

/**
 * Enqueues one job and runs it and all else that is due, at once. Answers its output; fails as `result()` does when the job failed,
 * and when it is still queued, because it waits for a retry or for its time.
 */
export async function runJob<D extends JobDefinition>(
  forge: JobForge,
  job: D,
  input: JobInput<D>,
  options: EnqueueOptions & { readonly handlers: readonly JobHandler[] },
): Promise<JobOutput<D>> {
  const { handlers, ...enqueueOptions } = options;
  const handle = await forge.enqueue(job, input, enqueueOptions);
  await drain(forge, handlers);
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
