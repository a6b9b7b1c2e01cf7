/**
 * Trouble with the database: who retries when, and what is logged. Whatever fails first begins an outage, with one line; when
 * everything that failed works again it is over, with another. In between nothing is logged, however often it is tried.
 */
import { sqlState } from "../errors.ts";
import type { WorkerLog } from "../reporting/log.ts";

export type Activity = "work" | "claim" | "heartbeat" | "listen";

const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 5_000;

export class Outage {
  readonly #log: WorkerLog;
  /** What fails now, and how often in a row. */
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

  /** Takes note of a failure and answers after how many milliseconds to try again: exponential, with jitter, bounded. */
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

  /** Takes note that it works. */
  worked(activity: Activity): void {
    if (this.#failing.size === 0 || !this.#failing.delete(activity) || this.#failing.size > 0) return;
    this.#log.info({ duration_ms: Math.round(performance.now() - this.#since) }, "Database trouble is over");
  }

  /** Nobody tries any more. */
  forget(activity: Activity): void {
    this.#failing.delete(activity);
  }
}

/** Between half and all of 100 ms, doubled for every time before, at most five seconds. */
export function backoff(times: number): number {
  const full = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(times, 20));
  return full * (0.5 + Math.random() / 2);
}
