/**
 * When a tick gives up on a database that fails: at once, unless the worker holds runs. Those it tries to settle for a
 * while, because their results would be lost.
 */
import { tickPatienceMs } from "../defaults.ts";
import type { HeldRuns } from "../running/held-runs.ts";

export class Patience {
  readonly #held: HeldRuns;
  readonly #giveUp: (error: unknown) => void;
  #failingSince = Number.POSITIVE_INFINITY;
  /** Rejects with the error of the call that used up the patience. */
  readonly exhausted: Promise<never>;

  constructor(held: HeldRuns) {
    this.#held = held;
    let giveUp: (error: unknown) => void = () => undefined;
    this.exhausted = new Promise<never>((_, reject) => {
      giveUp = reject;
    });
    this.#giveUp = giveUp;
  }

  /** A call failed and will be repeated. */
  failed(error: unknown): void {
    const now = performance.now();
    this.#failingSince = Math.min(this.#failingSince, now);
    if (this.#held.size === 0 || now - this.#failingSince > tickPatienceMs) this.#giveUp(error);
  }
}
