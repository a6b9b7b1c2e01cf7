/**
 * Lets a tick look again. A claim may return less than is due: another claim, which has not committed yet, holds what
 * it is about to make ready. A worker that runs until it is stopped looks again a moment later. A tick would end, and
 * the jobs would wait for the next one.
 */
import type { LoopSignal } from "../claiming/signal.ts";
import { firstDueRetryMs, tickLooks } from "../defaults.ts";

export class LookAgain {
  readonly #signal: LoopSignal;
  #timer: NodeJS.Timeout | undefined;
  #looks = 0;

  constructor(signal: LoopSignal) {
    this.#signal = signal;
  }

  /** Whether it will look again. */
  get isPending(): boolean {
    return this.#timer !== undefined;
  }

  /** A claim has returned jobs. */
  found(): void {
    this.#looks = 0;
  }

  /** A claim has returned less than it asked for. Looks again, a few times, if something is due all the same. */
  drained(nextDueAt: string | null, now: string): void {
    if (nextDueAt === null || Date.parse(nextDueAt) > Date.parse(now) || this.#looks >= tickLooks) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        this.#signal.wake();
      },
      firstDueRetryMs * 2 ** this.#looks,
    );
    this.#looks += 1;
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
