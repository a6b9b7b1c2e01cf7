/**
 * What a worker does while no job is due. It sleeps until a notification comes, until the next job that it knows of is
 * due, or until it is time to poll, whichever is first. The poll is the guarantee: everything works with it alone. The
 * heartbeat of a worker that is notified is such a poll: its response says whether a job may be claimed.
 *
 * A worker is in one of these modes:
 *
 * - Flowing: claims return all they ask for. No timer is set. Once the worker has been in this mode for `busyAfterMs`,
 *   it withdraws its request to be notified, so that other transactions need not send notifications.
 * - Sleeping, not marked: a claim has shown that no job is due (`drained`). A timer wakes the loop at the next due time
 *   or poll. Polls begin after `firstPollMs` and become less frequent, up to `pollMs`. A worker that cannot listen (it
 *   polls only, or its connection is being replaced) stays in this mode.
 * - Marking: notifications arrive, so a heartbeat asks the database to notify this worker. The timer of the mode before
 *   is still set. When the heartbeat has returned, the loop looks for jobs once more, because a job may have come
 *   before the database saw the mark. If that claim finds nothing either, the worker sleeps as marked.
 * - Sleeping, marked: like the other sleep, but a notification wakes the loop at once. It polls once after `pollMs`,
 *   then every `notifiedPollMs`, because heartbeats look for jobs as well. A notification or a heartbeat that names a
 *   later time only moves the timer forward.
 * - Stopped: no timer is set.
 *
 * A failed heartbeat removes the mark, and the next empty claim asks for it again.
 */
import type { LoopSignal } from "../claiming/signal.ts";
import { busyAfterMs, firstDueRetryMs, firstPollMs } from "../defaults.ts";
import type { DatabaseClock } from "./clock.ts";
import type { Heartbeat } from "./heartbeat.ts";

export interface IdleParts {
  readonly heartbeat: Heartbeat;
  readonly clock: DatabaseClock;
  readonly signal: LoopSignal;
  /** The longest sleep. */
  readonly pollMs: number;
  /** The longest sleep while notifications and heartbeats wake the worker. */
  readonly notifiedPollMs: number;
}

export class Idle {
  readonly #parts: IdleParts;
  #isStopped = false;
  #isListening = false;
  #isMarking = false;
  #timer: NodeJS.Timeout | undefined;
  /** When the timer fires. */
  #wakesAt = Number.POSITIVE_INFINITY;
  #emptyClaims = 0;
  #lastDue: string | undefined;
  #sameDue = 0;
  #drainedAt = performance.now();

  constructor(parts: IdleParts) {
    this.#parts = parts;
    parts.heartbeat.onDue((time) => {
      if (this.#isSleeping) this.comesAt(time);
    });
  }

  get #isSleeping(): boolean {
    return this.#wakesAt !== Number.POSITIVE_INFINITY;
  }

  /** Whether the database notifies this worker of every job that comes. */
  get isNotified(): boolean {
    return this.#isListening && this.#parts.heartbeat.isMarked;
  }

  /** Notifications arrive from now on, or no longer. When they begin to arrive, earlier ones may have been missed. */
  setListening(isListening: boolean): void {
    if (isListening && !this.#isListening) this.#parts.signal.wake();
    this.#isListening = isListening;
  }

  /** A claim has shown that no job is due. */
  drained(nextDueAt: string | null): void {
    const { heartbeat } = this.#parts;
    this.#drainedAt = performance.now();
    this.#sleep(Math.min(this.#pollMs(), this.#untilDue(nextDueAt)));
    this.#emptyClaims += 1;
    if (this.#isListening && !heartbeat.isMarked && !this.#isMarking) void this.#mark();
  }

  /** A claim has returned all it asked for, so more jobs are due. */
  flowing(): void {
    const { heartbeat } = this.#parts;
    this.#emptyClaims = 0;
    clearTimeout(this.#timer);
    this.#wakesAt = Number.POSITIVE_INFINITY;
    if (heartbeat.isMarked && performance.now() - this.#drainedAt > busyAfterMs && !this.#isMarking) {
      this.#isMarking = true;
      void heartbeat.mark(false).finally(() => {
        this.#isMarking = false;
      });
    }
  }

  /** A claim has returned jobs. */
  found(): void {
    this.#emptyClaims = 0;
  }

  /** A job becomes due at a time that may be earlier than the end of the sleep. */
  comesAt(time: string): void {
    const ms = this.#parts.clock.until(time);
    if (Number.isFinite(ms) && performance.now() + ms < this.#wakesAt)
      this.#sleep(Math.max(Math.ceil(ms) + 1, 1));
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#isListening = false;
    this.#isStopped = true;
  }

  /** Asks to be notified. A job may have come before the database saw the mark, so the loop looks once more. */
  async #mark(): Promise<void> {
    this.#isMarking = true;
    const isMarked = await this.#parts.heartbeat.mark(true);
    this.#isMarking = false;
    if (isMarked) this.#parts.signal.wake();
  }

  #sleep(ms: number): void {
    if (this.#isStopped) return;
    clearTimeout(this.#timer);
    // A notification may name a time years away, which setTimeout would turn into an immediate wake-up.
    const sleepMs = Math.min(ms, this.#parts.notifiedPollMs);
    this.#wakesAt = performance.now() + sleepMs;
    this.#timer = setTimeout(() => {
      this.#wakesAt = Number.POSITIVE_INFINITY;
      this.#parts.signal.wake();
    }, sleepMs);
  }

  /** The time until the next poll. It is short after work, and grows. */
  #pollMs(): number {
    const { heartbeat, pollMs, notifiedPollMs } = this.#parts;
    const isCovered = this.isNotified && heartbeat.seesJobs && this.#emptyClaims > 1;
    const growing = Math.min(pollMs, firstPollMs * 2 ** Math.min(this.#emptyClaims, 20));
    const ms = isCovered ? notifiedPollMs : this.isNotified ? pollMs : growing;
    return ms * (0.9 + Math.random() / 10);
  }

  /**
   * The time until the next job is due. A job that should be due and was not claimed is locked by another transaction,
   * or the clocks differ: then the time grows with each claim.
   */
  #untilDue(nextDueAt: string | null): number {
    if (nextDueAt === null) return Number.POSITIVE_INFINITY;
    this.#sameDue = nextDueAt === this.#lastDue ? this.#sameDue + 1 : 0;
    this.#lastDue = nextDueAt;
    const ms = Math.ceil(this.#parts.clock.until(nextDueAt)) + 1;
    return ms > firstDueRetryMs ? ms : firstDueRetryMs * 2 ** Math.min(this.#sameDue, 20);
  }
}
