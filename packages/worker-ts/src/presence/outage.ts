/**
 * Trouble with the database: when each activity retries, and what is logged. The first failure begins an outage, with
 * one log line. The outage is over when every activity that failed works again, with another line. In between nothing
 * is logged, however often calls fail.
 */
import { firstRetryDelayMs, maxRetryDelayMs } from "../defaults.ts";
import { sqlState } from "../errors.ts";
import type { WorkerLog } from "../reporting/log.ts";

export type Activity = "work" | "claim" | "heartbeat" | "listen";

export class Outage {
  readonly #log: WorkerLog;
  /** The activities that fail now, and how often in a row. */
  readonly #failing = new Map<Activity, number>();
  #since = 0;

  constructor(log: WorkerLog) {
    this.#log = log;
  }

  get isOver(): boolean {
    return this.#failing.size === 0;
  }

  isFailing(activity: Activity): boolean {
    return this.#failing.has(activity);
  }

  /** Notes a failure. Returns the milliseconds after which to retry: exponential, with jitter, limited. */
  failed(activity: Activity, error: unknown): number {
    if (this.#failing.size === 0) {
      this.#since = performance.now();
      const message = error instanceof Error ? error.message : String(error);
      this.#log.error(
        { activity, error: message, code: sqlState(error) ?? null },
        "Database trouble: retrying until it is over",
      );
    }
    const times = this.#failing.get(activity) ?? 0;
    this.#failing.set(activity, times + 1);
    return backoff(times);
  }

  /** Notes that the activity works. */
  worked(activity: Activity): void {
    if (this.#failing.size === 0 || !this.#failing.delete(activity) || this.#failing.size > 0) return;
    this.#log.info({ duration_ms: Math.round(performance.now() - this.#since) }, "Database trouble is over");
  }

  /** The activity has stopped, so it no longer counts as failing. */
  forget(activity: Activity): void {
    this.#failing.delete(activity);
  }
}

/** Between half and all of 100 ms, doubled for each earlier failure, and at most five seconds. */
export function backoff(times: number): number {
  const full = Math.min(maxRetryDelayMs, firstRetryDelayMs * 2 ** Math.min(times, 20));
  return full * (0.5 + Math.random() / 2);
}
