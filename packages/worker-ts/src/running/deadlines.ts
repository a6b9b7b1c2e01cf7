/**
 * Deadlines of runs. One timer serves them all: a timer for each of a million jobs would cost more than the jobs.
 */
import type { Run } from "./run.ts";

/** The longest delay that setTimeout accepts. */
const maxTimerMs = 2 ** 31 - 1;

export class Deadlines {
  readonly #due = new Map<Run, { readonly at: number; readonly reached: (run: Run) => void }>();
  #timer: NodeJS.Timeout | undefined;
  #armedFor = Number.POSITIVE_INFINITY;

  /** Calls `reached` after `ms` milliseconds, unless the run's deadline is cleared or set again before. */
  set(run: Run, ms: number, reached: (run: Run) => void): void {
    const at = performance.now() + ms;
    this.#due.set(run, { at, reached });
    if (at < this.#armedFor) this.#arm(at);
  }

  clear(run: Run): void {
    if (this.#due.size > 0) this.#due.delete(run);
  }

  /** Clears all deadlines. */
  stop(): void {
    this.#due.clear();
    clearTimeout(this.#timer);
    this.#armedFor = Number.POSITIVE_INFINITY;
  }

  #arm(at: number): void {
    clearTimeout(this.#timer);
    this.#armedFor = at;
    const ms = Math.min(Math.max(Math.ceil(at - performance.now()), 1), maxTimerMs);
    this.#timer = setTimeout(() => this.#fire(), ms).unref();
  }

  #fire(): void {
    const now = performance.now();
    this.#armedFor = Number.POSITIVE_INFINITY;
    let next = Number.POSITIVE_INFINITY;
    for (const [run, { at, reached }] of this.#due) {
      if (at <= now) {
        this.#due.delete(run);
        reached(run);
      } else next = Math.min(next, at);
    }
    // A callback may have set other deadlines.
    if (next < this.#armedFor) this.#arm(next);
  }
}
