/**
 * The dev tick of Harmonyk's jobs library: claims up to N due jobs, runs them in this process, and retries failures
 * later.
 */
import type { Transport } from "@jobforge/sdk-ts";
import { defaultRemoteTickLimit } from "../defaults.ts";
import type { WorkerOptions } from "../options.ts";
import { createWorker } from "../worker.ts";

export interface JobsTickOptions extends WorkerOptions {
  readonly forge: { readonly transport: Transport };
  /** The number of jobs per tick, at most. Default 20. */
  readonly limit?: number | undefined;
}

let configured: JobsTickOptions | undefined;

/** Sets the options for `runJobsTickDev()` without arguments, as a route handler calls it. */
export function configureJobsTickDev(options: JobsTickOptions): void {
  configured = options;
}

/** Runs one tick, for a dev-only endpoint such as `POST /api/jobs/tick`. */
export async function runJobsTickDev(options: JobsTickOptions | undefined = configured): Promise<void> {
  if (options === undefined) {
    throw new Error("runJobsTickDev() has no options: call configureJobsTickDev() first, or pass them");
  }
  const { forge, limit = defaultRemoteTickLimit, ...workerOptions } = options;
  await createWorker(forge, workerOptions).tick({ limit });
}
