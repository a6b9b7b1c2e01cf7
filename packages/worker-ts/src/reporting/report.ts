/** Tells logs and hooks what became of runs, once the kernel has said so. */

import type { JobStatus, SettledRun } from "../claiming/protocol.ts";
import type { Run } from "../running/run.ts";
import type { Hooks } from "./hooks.ts";
import type { WorkerLog } from "./log.ts";

/** How many runs ended how. */
export interface Tally {
  claimed: number;
  succeeded: number;
  /** Runs that failed and whose jobs are retried. */
  retried: number;
  /** Runs that failed and whose jobs are not retried: failed or dead. */
  failed: number;
  deferred: number;
  released: number;
  canceled: number;
  stale: number;
}

const FAILURES: Readonly<Record<JobStatus, readonly ["warn" | "error" | "info", string]>> = {
  queued: ["warn", "Job failed and will be retried"],
  failed: ["error", "Job failed and will not be retried"],
  dead: ["error", "Job failed in its last attempt"],
  canceled: ["info", "Job canceled"],
  succeeded: ["info", "Job succeeded"],
};

/** Of a success that the kernel made a failure of. Its answer does not say why. */
const REFUSED = {
  name: "InvalidResult",
  message: "The database refused the run's result or children; the job's error says why",
};

export class Report {
  readonly #log: WorkerLog;
  readonly #hooks: Hooks;
  readonly tally: Tally;

  constructor(log: WorkerLog, hooks: Hooks, tally: Tally) {
    this.#log = log;
    this.#hooks = hooks;
    this.tally = tally;
  }

  /** The kernel has kept a run's end. */
  kept(run: Run, settled: SettledRun): void {
    const ended = run.end?.status;
    if (settled.status === "canceled") this.tally.canceled += 1;
    if (ended === "succeeded") this.#succeeded(run, settled.status ?? "succeeded");
    else if (ended === "failed") this.#failed(run, settled.status ?? "queued");
    else this.#handedBack(run, settled.status ?? "queued");
  }

  /** The kernel refused a run's end, or took its job away. */
  stale(run: Run): void {
    this.tally.stale += 1;
    this.#log.job(
      "warn",
      run,
      undefined,
      "Job lost: its lease ran out or was taken, whatever it does is dropped",
    );
    this.#hooks.stale(run);
  }

  #succeeded(run: Run, status: JobStatus): void {
    // The kernel makes a failure of a success whose result it cannot keep.
    if (status !== "succeeded" && status !== "canceled") {
      if (run.end !== undefined) run.end = { ...run.end, error: REFUSED };
      this.#failed(run, status);
      return;
    }
    if (status === "succeeded") this.tally.succeeded += 1;
    if (this.#log.isEnabled("info")) {
      this.#log.job("info", run, undefined, status === "canceled" ? "Job canceled" : "Job succeeded");
    }
    this.#hooks.succeeded(run, status);
  }

  #failed(run: Run, status: JobStatus): void {
    const [level, message] = FAILURES[status];
    if (status === "queued") this.tally.retried += 1;
    else if (status !== "canceled") this.tally.failed += 1;
    const { name = null, message: error = null } = run.end?.error ?? {};
    this.#log.job(level, run, { error_name: name, error }, message);
    this.#hooks.failed(run, status);
  }

  #handedBack(run: Run, status: JobStatus): void {
    const isDeferred = run.end?.status === "deferred";
    if (isDeferred) this.tally.deferred += 1;
    else this.tally.released += 1;
    if (status === "dead") {
      this.#failed(run, status);
      return;
    }
    this.#log.job("info", run, undefined, isDeferred ? "Job deferred" : "Job released");
  }
}
