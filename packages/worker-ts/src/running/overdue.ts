/**
 * Hands back jobs that were claimed ahead and cannot start, because the jobs before them take longer than expected.
 * Another worker may have a slot for them. It costs them no attempt.
 */
import { maxSlotWaitMs, slotWaitCheckMs } from "../defaults.ts";
import type { Runner } from "./runner.ts";
import type { Slots } from "./slots.ts";

export class Overdue {
  readonly #slots: Slots;
  readonly #runner: Runner;
  #timer: NodeJS.Timeout | undefined;

  constructor(slots: Slots, runner: Runner) {
    this.#slots = slots;
    this.#runner = runner;
  }

  /** Checks the waiting jobs from time to time, as long as there are any. */
  watch(): void {
    if (this.#timer === undefined && this.#slots.needed > 0) {
      this.#timer = setTimeout(() => this.#check(), slotWaitCheckMs).unref();
    }
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #check(): void {
    this.#timer = undefined;
    if (performance.now() - this.#slots.waitingSince > maxSlotWaitMs) {
      this.#runner.noteStillRunning();
      for (const run of this.#slots.takeUnstarted()) this.#runner.handBack(run);
    }
    this.watch();
  }
}
