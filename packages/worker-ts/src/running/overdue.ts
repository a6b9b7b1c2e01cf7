/**
 * Jobs that were claimed ahead and then could not start, because those before them take longer than was to be expected, go back:
 * another worker may have a slot for them. Costs them no attempt.
 */
import type { Run } from "./run.ts";
import type { Slots } from "./slots.ts";

const CHECK_MS = 100;
const LONGEST_WAIT_MS = 500;

export class Overdue {
  readonly #slots: Slots;
  readonly #handBack: (runs: readonly Run[]) => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(slots: Slots, handBack: (runs: readonly Run[]) => void) {
    this.#slots = slots;
    this.#handBack = handBack;
  }

  /** Looks after what waits, as long as something does. */
  watch(): void {
    if (this.#timer === undefined && this.#slots.waiting > 0) {
      this.#timer = setTimeout(() => this.#check(), CHECK_MS).unref();
    }
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #check(): void {
    this.#timer = undefined;
    if (performance.now() - this.#slots.waitingSince > LONGEST_WAIT_MS)
      this.#handBack(this.#slots.takeUnstarted());
    this.watch();
  }
}
