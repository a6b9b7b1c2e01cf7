/**
 * Trouble with the database: when each activity retries, and what is logged. The first failure begins an outage, with
 * one log line. The outage is over when every activity that failed works again, with another line. In between nothing
 * is logged, however often calls fail.
 */
import { failureLine } from "@jobforge/sdk-ts";
import { describeError } from "@jobforge/sdk-ts/internal";
import { firstRetryDelayMs, maxRetryDelayMs } from "../defaults.ts";
import { sqlState } from "../errors.ts";
import type { Hooks } from "../reporting/hooks.ts";
import type { WorkerLog } from "../reporting/log.ts";

export type Activity = "work" | "claim" | "heartbeat" | "listen";

export class Outage {
  readonly #log: WorkerLog;
  readonly #hooks: Hooks;
  /** The activities that fail now, and how often in a row. */
  readonly #failing = new Map<Activity, number>();
  #since = 0;

  constructor(log: WorkerLog, hooks: Hooks) {
    this.#log = log;
    this.#hooks = hooks;
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
      const code = sqlState(error);
      this.#log.error(
        { activity, error: failureLine(describeError(error)), code: code ?? null },
        "Database trouble: retrying until it is over",
      );
      this.#hooks.trouble(error, { activity, code });
    }
    const times = this.#failing.get(activity) ?? 0;
    this.#failing.set(activity, times + 1);
    return backoff(times);
  }

  /** Notes that the activity works. */
  worked(activity: Activity): void {
    if (this.#failing.size === 0 || !this.#failing.delete(activity) || this.#failing.size > 0) return;
    const durationMs = Math.round(performance.now() - this.#since);
    this.#log.info({ duration_ms: durationMs }, "Database trouble is over");
    this.#hooks.troubleOver(durationMs);
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
