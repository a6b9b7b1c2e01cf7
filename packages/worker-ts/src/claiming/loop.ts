/**
 * The cycle of work: settle what has ended and claim what comes next, in one call; start it; and so on. Ends that come in while a call
 * is on its way go with the next one, so batches grow with the load by themselves. Two calls may be on their way at once,
 * so that the database works while handlers run. Nothing here fails: trouble pauses it.
 */

import { isDataError } from "../errors.ts";
import type { Idle } from "../presence/idle.ts";
import type { Outage } from "../presence/outage.ts";
import type { Meter } from "../reporting/meter.ts";
import type { Run } from "../running/run.ts";
import type { Slots } from "../running/slots.ts";
import type { Demand } from "./demand.ts";
import type { Kernel } from "./kernel.ts";
import type { Pace } from "./pace.ts";
import type { Ask, ClaimedJob, SettleAnswer } from "./protocol.ts";
import type { Settlements } from "./settlements.ts";

const LANES = 2;
const MOST_HINTS = 16;
/** How long an end waits for others to be settled with, while nothing else needs a call. */
const LINGER_MS = 4;

/** One call at a time, and what the kernel told it to hand back with the next one, by the types it asks for. */
class Lane {
  isBusy = false;
  readonly #hints = new Map<string, unknown>();

  hintFor(ask: Ask): unknown {
    return this.#hints.get(ask.types.join());
  }

  remember(ask: Ask, hint: unknown): void {
    if (this.#hints.size >= MOST_HINTS) this.#hints.clear();
    this.#hints.set(ask.types.join(), hint);
  }
}

export interface LoopParts {
  readonly kernel: Kernel;
  readonly slots: Slots;
  readonly demand: Demand;
  readonly pace: Pace;
  readonly meter: Meter;
  readonly settlements: Settlements;
  readonly outage: Outage;
  readonly batchSize: number;
  /** The database is in trouble: a call failed, and will be made again. */
  onTrouble(error: unknown): void;
  /** Takes claimed jobs in; they start with the next `fill` of the slots. */
  accept(jobs: readonly ClaimedJob[], ask: Ask, isFull: boolean): void;
}

export class Loop {
  readonly #parts: LoopParts;
  readonly #lanes: readonly Lane[] = Array.from({ length: LANES }, () => new Lane());
  /** What sleeps while nothing is due; a tick does not sleep. */
  idle: Idle | undefined;
  /** How many jobs it may still claim. */
  #budget: number;
  #isClaiming = false;
  #isStopped = false;
  /** Whether something may be due. */
  #isHungry = true;
  /** Whether the last claim got all it asked for. */
  #isFlowing = false;
  #wakes = 0;
  #claimsOut = 0;
  #pause: NodeJS.Timeout | undefined;
  #claimPause: NodeJS.Timeout | undefined;
  #isScheduled = false;
  /** Ends wait for others to go with them, and have done so. */
  #linger: NodeJS.Timeout | undefined;
  #hasWaited = false;
  #waiters: (() => void)[] = [];

  constructor(parts: LoopParts, budget: number = Number.POSITIVE_INFINITY) {
    this.#parts = parts;
    this.#budget = budget;
  }

  /** Begins to claim. */
  open(): void {
    this.#isClaiming = true;
    this.wake();
  }

  /** Something may be due. */
  wake(): void {
    this.#isHungry = true;
    this.#wakes += 1;
    this.#turn();
  }

  /** A type that was left out of claims has room again, and nobody knows whether something of it is due. */
  mayHaveMore(): void {
    this.#isHungry = true;
    this.#wakes += 1;
  }

  /** Something has ended, or may start. Turns once for all that happens in this turn of the event loop. */
  schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#turn();
    });
  }

  /** Claims nothing any more. */
  stopClaiming(): void {
    this.#isClaiming = false;
    clearTimeout(this.#claimPause);
    this.#claimPause = undefined;
  }

  /** Comes back when nothing runs, waits or is on its way, and nothing more will be claimed. */
  async quiet(): Promise<void> {
    if (this.#isQuiet) return;
    await new Promise<void>((resolve) => this.#waiters.push(resolve));
  }

  /** Gives up what could not be settled. */
  stop(): void {
    this.#isStopped = true;
    this.stopClaiming();
    clearTimeout(this.#pause);
    clearTimeout(this.#linger);
    this.#release();
  }

  get #isSpent(): boolean {
    return this.#budget <= 0 && this.#claimsOut === 0;
  }

  get #isQuiet(): boolean {
    const { slots, settlements } = this.#parts;
    const mayClaim = this.#isClaiming && this.#isHungry && this.#budget > 0;
    return !mayClaim && slots.isEmpty && settlements.isEmpty && !this.#lanes.some((lane) => lane.isBusy);
  }

  #turn(): void {
    if (!this.#isClaiming || this.#claimPause !== undefined || this.#pause !== undefined || this.#isSpent) {
      this.#parts.demand.giveUpFilling();
    }
    this.#parts.slots.fill();
    for (const lane of this.#lanes) {
      if (lane.isBusy) continue;
      if (!this.#call(lane)) break;
    }
    if (this.#waiters.length > 0 && this.#isQuiet) this.#release();
  }

  #release(): void {
    for (const resolve of this.#waiters.splice(0)) resolve();
  }

  /** Makes the next call, if there is a reason for one. */
  #call(lane: Lane): boolean {
    const { settlements, outage, batchSize } = this.#parts;
    const othersBusy = this.#lanes.some((other) => other.isBusy);
    // In trouble one call at a time is enough to see whether it is over.
    if (this.#isStopped || this.#pause !== undefined || (othersBusy && outage.isFailing("work")))
      return false;
    const ask = this.#nextAsk();
    if (ask === undefined && (settlements.waiting === 0 || this.#mayWait(othersBusy))) return false;
    this.#hasWaited = false;
    const { runs, alone } = settlements.take(batchSize);
    void this.#exchange(lane, runs, alone ? undefined : ask);
    return true;
  }

  /** Whether ends without a claim can wait for others: for a call that is on its way, or a moment while every slot has work. */
  #mayWait(othersBusy: boolean): boolean {
    const { settlements, slots, batchSize } = this.#parts;
    if (settlements.waiting >= batchSize) return false;
    if (othersBusy) return true;
    if (slots.free > 0 || this.#hasWaited || !this.#isClaiming) return false;
    this.#linger ??= setTimeout(() => {
      this.#linger = undefined;
      this.#hasWaited = true;
      this.#turn();
    }, LINGER_MS);
    return true;
  }

  #nextAsk(): Ask | undefined {
    if (!this.#isClaiming || this.#budget <= 0 || this.#claimPause !== undefined) return undefined;
    // A settle takes a claim along, also when there is no sign that something is due.
    if (!this.#isHungry && this.#parts.settlements.waiting === 0) return undefined;
    if (this.#claimsOut > 0 && !this.#isFlowing) return undefined;
    return this.#parts.demand.next(this.#budget);
  }

  async #exchange(lane: Lane, runs: readonly Run[], ask: Ask | undefined): Promise<void> {
    const { kernel, settlements, outage, pace, meter } = this.#parts;
    const wakes = this.#wakes;
    const sentAt = performance.now();
    lane.isBusy = true;
    if (ask !== undefined) this.#expect(ask, 1);
    try {
      const hint = ask === undefined ? undefined : lane.hintFor(ask);
      const answer = await kernel.settle(
        runs.map((run) => run.endJson),
        ask,
        hint,
      );
      const tookMs = performance.now() - sentAt;
      meter.noteCall(tookMs, runs.length, ask !== undefined);
      outage.worked("work");
      settlements.answered(runs, answer.settled);
      if (ask !== undefined) {
        this.#expect(ask, -1);
        pace.noteRoundTrip(tookMs);
        lane.remember(ask, answer.hint);
        this.#claimed(answer, ask, this.#wakes !== wakes);
      }
    } catch (error) {
      if (ask !== undefined) this.#expect(ask, -1);
      this.#failed(runs, error, ask === undefined);
    }
    lane.isBusy = false;
    this.schedule();
  }

  #claimed(answer: SettleAnswer, ask: Ask, wasWoken: boolean): void {
    const { outage, slots } = this.#parts;
    if (answer.claim_error !== undefined) {
      this.#claimFailed(answer.claim_error);
      return;
    }
    outage.worked("claim");
    const isFull = answer.jobs.length >= ask.limit;
    this.#isFlowing = isFull;
    this.#budget -= answer.jobs.length;
    if (answer.jobs.length > 0) {
      this.idle?.found();
      this.#parts.accept(answer.jobs, ask, isFull);
      slots.fill();
    }
    if (isFull) {
      this.#isHungry = true;
      this.idle?.flowing();
    } else if (ask.all && !wasWoken) {
      this.#isHungry = false;
      if (this.#isClaiming) this.idle?.drained(answer.next_due_at);
    }
  }

  #expect(ask: Ask, sign: 1 | -1): void {
    this.#claimsOut += sign;
    this.#budget -= sign * ask.limit;
    if (sign === 1) this.#parts.demand.expect(ask);
    else this.#parts.demand.arrived(ask);
  }

  #failed(runs: readonly Run[], error: unknown, alone: boolean): void {
    const { settlements, outage } = this.#parts;
    if (runs.length > 0 && isDataError(error)) {
      settlements.refused(runs, error, alone);
      return;
    }
    settlements.failed(runs);
    this.#parts.onTrouble(error);
    clearTimeout(this.#pause);
    this.#pause = setTimeout(
      () => {
        this.#pause = undefined;
        this.#turn();
      },
      outage.failed("work", error),
    );
  }

  #claimFailed(error: { readonly code: string; readonly message: string }): void {
    clearTimeout(this.#claimPause);
    const reason = Object.assign(new Error(error.message), { code: error.code });
    this.#parts.onTrouble(reason);
    this.#claimPause = setTimeout(
      () => {
        this.#claimPause = undefined;
        this.#turn();
      },
      this.#parts.outage.failed("claim", reason),
    );
  }
}
