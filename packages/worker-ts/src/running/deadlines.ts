/**
 * Points in time at which something is done about a run. One timer serves them all: a timer for each of a million jobs would
 * cost more than the jobs.
 */
import type { Run } from "./run.ts";

const LONGEST_TIMER_MS = 2 ** 31 - 1;

export class Deadlines {
  readonly #due = new Map<Run, { readonly at: number; readonly reached: (run: Run) => void }>();
  #timer: NodeJS.Timeout | undefined;
  #armedFor = Number.POSITIVE_INFINITY;

  /** Calls `reached` in so many milliseconds, unless cleared or set anew before. */
  set(run: Run, ms: number, reached: (run: Run) => void): void {
    const at = performance.now() + ms;
    this.#due.set(run, { at, reached });
    if (at < this.#armedFor) this.#arm(at);
  }

  clear(run: Run): void {
    if (this.#due.size > 0) this.#due.delete(run);
  }

  /** Forgets all of them. */
  stop(): void {
    this.#due.clear();
    clearTimeout(this.#timer);
    this.#armedFor = Number.POSITIVE_INFINITY;
  }

  #arm(at: number): void {
    clearTimeout(this.#timer);
    this.#armedFor = at;
    const ms = Math.min(Math.max(Math.ceil(at - performance.now()), 1), LONGEST_TIMER_MS);
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
    // What was reached may have set others.
    if (next < this.#armedFor) this.#arm(next);
  }
}
