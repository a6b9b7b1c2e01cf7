/** The dev tick of Harmonyk's jobs library: claims at most N runnable jobs, runs them in this process, and backs off what fails. */
import type { Transport } from "@jobforge/sdk-ts";
import type { WorkerOptions } from "../options.ts";
import { createWorker } from "../worker.ts";

export interface JobsTickOptions extends WorkerOptions {
  readonly forge: { readonly transport: Transport };
  /** Jobs per tick, at most. Default 20. */
  readonly limit?: number | undefined;
}

let configured: JobsTickOptions | undefined;

/** Says what `runJobsTickDev()` runs when it is called without options, as a route handler does. */
export function configureJobsTickDev(options: JobsTickOptions): void {
  configured = options;
}

/** Runs one tick: for a dev-only endpoint such as `POST /api/jobs/tick`. */
export async function runJobsTickDev(options: JobsTickOptions | undefined = configured): Promise<void> {
  if (options === undefined) {
    throw new Error(
      "runJobsTickDev() does not know what to run: call configureJobsTickDev() first, or pass options",
    );
  }
  const { forge, limit = 20, ...workerOptions } = options;
  await createWorker(forge, workerOptions).tick({ limit });
}
