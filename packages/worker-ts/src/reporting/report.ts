/** Reports to logs and hooks how runs ended, once the database has confirmed it. */

import type { EndStatus, SettledRun } from "../claiming/protocol.ts";
import type { Run } from "../running/run.ts";
import type { Hooks } from "./hooks.ts";
import type { WorkerLog } from "./log.ts";

/** The number of runs, by how they ended. */
export interface Tally {
  claimed: number;
  succeeded: number;
  /** Runs that failed and whose jobs will be retried, or whose schedules continue. */
  retried: number;
  /** Runs that failed and whose jobs will not be retried: these are failed or dead. */
  failed: number;
  deferred: number;
  released: number;
  canceled: number;
  stale: number;
}

const failureLines: Readonly<Record<EndStatus, readonly ["warn" | "error" | "info", string]>> = {
  queued: ["warn", "Job failed and will be retried"],
  failed: ["error", "Job failed and will not be retried"],
  dead: ["error", "Job failed in its last attempt"],
  canceled: ["info", "Job canceled"],
  succeeded: ["info", "Job succeeded"],
};

/** A failure ends the run of a schedule, but not the schedule, unless the schedule wants its runs to be retried. */
const scheduleLine = ["warn", "Run failed, and its schedule continues"] as const;

/** The error of a success that the database turned into a failure. Its response does not say why. */
const refusedSuccess = {
  name: "InvalidResult",
  message: "The database refused the run's result or children; the job's error says why",
};

const refusedWait = {
  name: "InvalidWait",
  message: "The database refused what the run waits for; the job's error says why",
};

const handedBackLines: Readonly<Partial<Record<string, string>>> = {
  deferred: "Job deferred",
  released: "Job released",
  suspended: "Job suspended until what it waits for has come",
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

  claimed(jobs: number): void {
    this.tally.claimed += jobs;
  }

  /** The database has accepted the run's end. */
  settled(run: Run, reply: SettledRun): void {
    const ended = run.end?.status;
    if (reply.status === "canceled") this.tally.canceled += 1;
    if (ended === "succeeded") this.#succeeded(run, reply.status ?? "succeeded");
    else if (ended === "failed") this.#failed(run, reply.status ?? "queued");
    else this.#handedBack(run, reply.status ?? "queued");
  }

  /** The database has refused the run's end, or has taken the job away from this worker. */
  stale(run: Run): void {
    this.tally.stale += 1;
    this.#log.job("warn", run, undefined, "Job lost: its lease ran out or was taken; its result is dropped");
    this.#hooks.stale(run);
  }

  #succeeded(run: Run, status: EndStatus): void {
    // The database turns a success into a failure when it cannot store the result.
    if (status !== "succeeded" && status !== "canceled") {
      if (run.end !== undefined) run.end = { ...run.end, error: refusedSuccess };
      this.#failed(run, status);
      return;
    }
    if (status === "succeeded") this.tally.succeeded += 1;
    if (this.#log.isEnabled("info")) {
      this.#log.job("info", run, undefined, status === "canceled" ? "Job canceled" : "Job succeeded");
    }
    this.#hooks.succeeded(run, status);
  }

  #failed(run: Run, status: EndStatus): void {
    const continues = status === "failed" && run.job.schedule_key !== undefined && !run.job.retry_runs;
    const [level, message] = continues ? scheduleLine : failureLines[status];
    if (status === "queued" || continues) this.tally.retried += 1;
    else if (status !== "canceled") this.tally.failed += 1;
    this.#log.failure(level, run, run.end?.error, message);
    this.#hooks.failed(run, status);
  }

  #handedBack(run: Run, status: EndStatus): void {
    const ended = run.end?.status;
    // A suspended run has deferred its job, too: until what it waits for has come.
    if (ended === "deferred" || (ended === "suspended" && status !== "failed")) this.tally.deferred += 1;
    else if (ended !== "suspended") this.tally.released += 1;
    if (status === "dead") {
      this.#failed(run, status);
      return;
    }
    if (ended === "suspended") {
      // The database turns a wait into a failure when it is not valid.
      if (status === "failed") {
        if (run.end !== undefined) run.end = { ...run.end, error: refusedWait };
        this.#failed(run, status);
        return;
      }
      this.#hooks.suspended(run, status);
    }
    this.#log.job("info", run, undefined, handedBackLines[ended ?? "released"] ?? "Job released");
  }
}
