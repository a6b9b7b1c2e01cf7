/**
 * What a worker does when nothing is due: it asks to be woken, looks once more, and sleeps until a notification comes, until the next
 * job it knows of is due, or until it is time to poll, whichever is first. The poll is the guarantee: everything works with
 * it alone.
 */
import type { DatabaseClock } from "./clock.ts";
import type { Heartbeat } from "./heartbeat.ts";

const FIRST_POLL_MS = 100;
const FIRST_RETRY_MS = 5;
/** A worker that has been busy for so long no longer needs to be woken, and must not cost others their notifications. */
const BUSY_MS = 1_000;

export interface IdleOptions {
  readonly pollMs: number;
  readonly clock: DatabaseClock;
  /** Looks for work. */
  look(): void;
}

export class Idle {
  readonly #options: IdleOptions;
  readonly #heartbeat: Heartbeat;
  #isListening = false;
  #isMarking = false;
  #timer: NodeJS.Timeout | undefined;
  #rings = Number.POSITIVE_INFINITY;
  #emptyLooks = 0;
  #lastDue: string | undefined;
  #sameDue = 0;
  #drainedAt = performance.now();

  constructor(heartbeat: Heartbeat, options: IdleOptions) {
    this.#heartbeat = heartbeat;
    this.#options = options;
  }

  /** Whether notifications arrive. When they begin to, some may have been missed before. */
  set isListening(isListening: boolean) {
    if (isListening && !this.#isListening) this.#options.look();
    this.#isListening = isListening;
  }

  /** Nothing is due. Sleeps until there may be something. */
  drained(nextDueAt: string | null): void {
    this.#drainedAt = performance.now();
    this.#sleep(Math.min(this.#pollMs(), this.#untilDue(nextDueAt)));
    this.#emptyLooks += 1;
    if (this.#isListening && !this.#heartbeat.isMarked && !this.#isMarking) void this.#mark();
  }

  /** There was something, and there is more. */
  flowing(): void {
    this.#emptyLooks = 0;
    clearTimeout(this.#timer);
    this.#rings = Number.POSITIVE_INFINITY;
    if (this.#heartbeat.isMarked && performance.now() - this.#drainedAt > BUSY_MS && !this.#isMarking) {
      this.#isMarking = true;
      void this.#heartbeat.mark(false).finally(() => {
        this.#isMarking = false;
      });
    }
  }

  /** There was something. */
  found(): void {
    this.#emptyLooks = 0;
  }

  /** A job becomes due at a time that may be earlier than what it sleeps for. */
  comesAt(time: string): void {
    const ms = this.#options.clock.until(time);
    if (Number.isFinite(ms) && performance.now() + ms < this.#rings)
      this.#sleep(Math.max(Math.ceil(ms) + 1, 1));
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#isListening = false;
    this.#rings = Number.NEGATIVE_INFINITY;
  }

  /** Something may have come before the mark was seen, so it looks once more. */
  async #mark(): Promise<void> {
    this.#isMarking = true;
    const isHeard = await this.#heartbeat.mark(true);
    this.#isMarking = false;
    if (isHeard) this.#options.look();
  }

  #sleep(ms: number): void {
    if (this.#rings === Number.NEGATIVE_INFINITY) return;
    clearTimeout(this.#timer);
    this.#rings = performance.now() + ms;
    this.#timer = setTimeout(() => {
      this.#rings = Number.POSITIVE_INFINITY;
      this.#options.look();
    }, ms);
  }

  /** Unless it will be woken, a worker that just had work looks soon again, and less and less often. */
  #pollMs(): number {
    const { pollMs } = this.#options;
    const isWoken = this.#isListening && this.#heartbeat.isMarked;
    const longest = isWoken ? pollMs : Math.min(pollMs, FIRST_POLL_MS * 2 ** Math.min(this.#emptyLooks, 20));
    return longest * (0.9 + Math.random() / 10);
  }

  /** A job that should be due and was not found is in somebody's hands, or the clocks differ: no hurry then. */
  #untilDue(nextDueAt: string | null): number {
    if (nextDueAt === null) return Number.POSITIVE_INFINITY;
    this.#sameDue = nextDueAt === this.#lastDue ? this.#sameDue + 1 : 0;
    this.#lastDue = nextDueAt;
    const ms = Math.ceil(this.#options.clock.until(nextDueAt)) + 1;
    return ms > FIRST_RETRY_MS ? ms : FIRST_RETRY_MS * 2 ** Math.min(this.#sameDue, 20);
  }
}
