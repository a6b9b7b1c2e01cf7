/**
 * Runs of schedules whose handlers ignore their timeout. Their slots are free. Heartbeats keep their leases until the
 * handler returns, so that no other run of the schedule starts next to it; but only up to `overrunFactor` timeouts.
 */
import { overrunFactor } from "../defaults.ts";
import type { Run } from "./run.ts";

export class Overruns {
  readonly #isEnabled: boolean;
  readonly #runs = new Set<Run>();

  /** A tick ends before its handlers return, so it has no overruns. */
  constructor(isEnabled: boolean) {
    this.#isEnabled = isEnabled;
  }

  /** Whether the schedule of this run waits from now on for its handler, which ignores its aborted signal. */
  accepts(run: Run): boolean {
    const isOfSchedule = run.job.scheduled_for !== undefined;
    return this.#isEnabled && isOfSchedule && run.aborted?.kind === "timeout" && !this.#runs.has(run);
  }

  /** Returns for how many milliseconds more the schedule waits. */
  add(run: Run): number {
    this.#runs.add(run);
    return overrunFactor * (run.type.timeoutMs ?? 0) - (performance.now() - run.startedAt);
  }

  has(run: Run): boolean {
    return this.#runs.has(run);
  }

  delete(run: Run): void {
    this.#runs.delete(run);
  }

  get all(): readonly Run[] {
    return [...this.#runs];
  }
}
