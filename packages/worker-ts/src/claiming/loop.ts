/**
 * The loop: one call settles the runs that have ended and claims the next jobs; the jobs start; their ends go with a
 * later call. Ends that arrive while a call is in flight wait for the next one, so batches grow with the load. Two
 * calls may be in flight at the same time, so that the database works while handlers run. The loop never fails: it
 * retries.
 *
 * The loop has four modes:
 *
 * - "new": it does nothing. `open` changes it to "claiming".
 * - "claiming": it settles and claims. `stopClaiming` changes it to "settling".
 * - "settling": it claims nothing more, and settles the ends of the runs that are left. `stop` changes it to "stopped".
 * - "stopped": it makes no more calls. Ends that are not settled by now are given up, and their leases will run out.
 *
 * In "claiming" mode a turn of the loop makes a call for one of these reasons:
 *
 * - A job may be due (`signal.mayBeDue`) and there is room for it (`demand`). Jobs may be due at the start, after a
 *   wake-up, and as long as claims return all they asked for, or as much as one response may have. A claim of all types
 *   that returns less makes the worker idle: then only `idle` or a notification wakes the loop.
 * - Ends wait to be settled. They take a claim along if there is room; but not if the worker is notified of every job
 *   that comes, and the ends are of jobs that were handed to it and make no other job ready: such a claim would find
 *   nothing. Without a claim they wait for a call in flight, or for `settleDelayMs` while every slot is busy, so that
 *   more of them share a call.
 *
 * A turn is taken when a call returns, when a run ends or frees a slot, at a wake-up, and when one of these times is
 * over:
 *
 * - After a call that failed, no call is made until the retry delay of `outage` is over. Then one call at a time is
 *   made until one succeeds.
 * - After a claim that failed, while the settle in the same call succeeded, only claims wait.
 */
import type { Backend } from "../backend.ts";
import { parallelCalls, settleDelayMs } from "../defaults.ts";
import { isDataError } from "../errors.ts";
import type { Idle } from "../presence/idle.ts";
import type { LookAgain } from "../presence/look-again.ts";
import type { Outage } from "../presence/outage.ts";
import type { Patience } from "../presence/patience.ts";
import type { Meter } from "../reporting/meter.ts";
import type { Run } from "../running/run.ts";
import type { Runner } from "../running/runner.ts";
import type { Slots } from "../running/slots.ts";
import { Caller } from "./caller.ts";
import type { Demand } from "./demand.ts";
import type { Intake } from "./intake.ts";
import type { Pace } from "./pace.ts";
import type { ClaimRequest, SettleResponse } from "./protocol.ts";
import type { Settlements } from "./settlements.ts";
import type { LoopSignal } from "./signal.ts";

export interface LoopParts {
  readonly backend: Backend;
  readonly signal: LoopSignal;
  readonly demand: Demand;
  readonly pace: Pace;
  readonly meter: Meter;
  readonly intake: Intake;
  readonly runner: Runner;
  readonly slots: Slots;
  readonly settlements: Settlements;
  readonly outage: Outage;
  /** Sleeps while no job is due. A tick ends instead. */
  readonly idle: Idle | undefined;
  /** Lets a tick look again before it ends. */
  readonly lookAgain: LookAgain | undefined;
  /** Decides when a tick gives up. A worker that runs until it is stopped never does. */
  readonly patience: Patience | undefined;
  /** The number of ends in one call, at most. */
  readonly batchSize: number;
  /** The number of jobs that the loop may claim in total. */
  readonly budget: number;
}

export class Loop {
  readonly #parts: LoopParts;
  readonly #callers: readonly Caller[] = Array.from({ length: parallelCalls }, () => new Caller());
  #mode: "new" | "claiming" | "settling" | "stopped" = "new";
  /** The number of jobs that it may still claim. */
  #budget: number;
  #claimsInFlight = 0;
  /** Whether the last claim returned all it asked for. */
  #isFlowing = false;
  #retryTimer: NodeJS.Timeout | undefined;
  #claimRetryTimer: NodeJS.Timeout | undefined;
  /** Runs while ends wait for others to be settled with; `#hasWaited` once they have. */
  #settleTimer: NodeJS.Timeout | undefined;
  #hasWaited = false;
  #waiters: (() => void)[] = [];

  constructor(parts: LoopParts) {
    this.#parts = parts;
    this.#budget = parts.budget;
  }

  /** Begins to claim. Does nothing if the loop was stopped before. */
  open(): void {
    if (this.#mode !== "new") return;
    this.#mode = "claiming";
    this.#parts.signal.wake();
  }

  /** Claims nothing more. */
  stopClaiming(): void {
    this.#mode = "settling";
    clearTimeout(this.#claimRetryTimer);
    this.#claimRetryTimer = undefined;
  }

  /** Gives up the ends that are not settled. */
  stop(): void {
    this.stopClaiming();
    this.#mode = "stopped";
    clearTimeout(this.#retryTimer);
    clearTimeout(this.#settleTimer);
    this.#parts.lookAgain?.stop();
    this.#wakeWaiters();
  }

  /** Resolves when no run waits, runs or is being settled, and nothing more will be claimed. */
  async quiet(): Promise<void> {
    if (this.#isQuiet) return;
    await new Promise<void>((resolve) => this.#waiters.push(resolve));
  }

  /** Starts the jobs that may start, and makes the calls for which there is a reason. */
  turn(): void {
    const { demand, runner } = this.#parts;
    if (!this.#mayClaim || this.#retryTimer !== undefined || this.#isSpent) demand.stopFilling();
    runner.startWaiting();
    for (const caller of this.#callers) {
      if (caller.isBusy) continue;
      if (!this.#call(caller)) break;
    }
    if (this.#waiters.length > 0 && this.#isQuiet) this.#wakeWaiters();
  }

  get #mayClaim(): boolean {
    return this.#mode === "claiming" && this.#claimRetryTimer === undefined;
  }

  get #isSpent(): boolean {
    return this.#budget <= 0 && this.#claimsInFlight === 0;
  }

  get #isQuiet(): boolean {
    const { signal, slots, settlements, lookAgain } = this.#parts;
    const willLook = signal.mayBeDue || lookAgain?.isPending === true;
    const willClaim = this.#mode === "claiming" && willLook && this.#budget > 0;
    return !willClaim && slots.isEmpty && settlements.isEmpty && !this.#isCalling;
  }

  get #isCalling(): boolean {
    return this.#callers.some((caller) => caller.isBusy);
  }

  #wakeWaiters(): void {
    for (const resolve of this.#waiters.splice(0)) resolve();
  }

  /** Makes the next call, if there is a reason for one. */
  #call(caller: Caller): boolean {
    const { settlements, outage, batchSize } = this.#parts;
    const isCalling = this.#isCalling;
    if (this.#mode === "stopped" || this.#retryTimer !== undefined) return false;
    // While the database fails, one call at a time is enough to see whether it has recovered.
    if (isCalling && outage.isFailing("work")) return false;
    const request = this.#nextClaim();
    if (request === undefined && (settlements.unsent === 0 || this.#endsMayWait(isCalling))) return false;
    this.#hasWaited = false;
    const { runs, alone } = settlements.take(batchSize);
    void this.#settleAndClaim(caller, runs, alone ? undefined : request);
    return true;
  }

  /** Whether ends without a claim can wait for others: for a call in flight, or a moment while every slot is busy. */
  #endsMayWait(isCalling: boolean): boolean {
    const { settlements, slots, batchSize } = this.#parts;
    if (settlements.unsent >= batchSize) return false;
    if (isCalling) return true;
    if (slots.available > 0 || this.#hasWaited || this.#mode !== "claiming") return false;
    this.#settleTimer ??= setTimeout(() => {
      this.#settleTimer = undefined;
      this.#hasWaited = true;
      this.turn();
    }, settleDelayMs);
    return true;
  }

  #nextClaim(): ClaimRequest | undefined {
    const { signal, settlements, demand, idle } = this.#parts;
    if (!this.#mayClaim || this.#budget <= 0) return undefined;
    // A settle takes a claim along even when there is no sign that a job is due, unless there would be one.
    const seeks = idle?.isNotified === true ? settlements.mayFreeJobs : settlements.unsent > 0;
    if (!signal.mayBeDue && !seeks) return undefined;
    if (this.#claimsInFlight > 0 && !this.#isFlowing) return undefined;
    return demand.next(this.#budget);
  }

  async #settleAndClaim(
    caller: Caller,
    runs: readonly Run[],
    request: ClaimRequest | undefined,
  ): Promise<void> {
    const { backend, signal, settlements, outage, pace, meter } = this.#parts;
    const { wakeUps } = signal;
    const sentAt = performance.now();
    caller.isBusy = true;
    if (request !== undefined) this.#reserve(request, 1);
    try {
      const hint = request === undefined ? undefined : caller.hintFor(request);
      const response = await backend.settle(runs, request, hint);
      const tookMs = performance.now() - sentAt;
      meter.noteCall(tookMs, runs.length, request !== undefined);
      outage.worked("work");
      settlements.confirmed(runs, response.settled);
      if (request !== undefined) {
        this.#reserve(request, -1);
        pace.noteRoundTrip(tookMs);
        caller.keepHint(request, response.hint);
        this.#claimed(response, request, signal.wakeUps !== wakeUps);
      }
    } catch (error) {
      if (request !== undefined) this.#reserve(request, -1);
      this.#failed(runs, error, request === undefined);
    }
    caller.isBusy = false;
    signal.schedule();
  }

  #claimed(response: SettleResponse, request: ClaimRequest, wasWoken: boolean): void {
    const { jobs, claim_error, more = false } = response;
    const { outage, idle, signal, lookAgain } = this.#parts;
    if (claim_error !== undefined) {
      this.#claimFailed(claim_error);
      return;
    }
    outage.worked("claim");
    this.#isFlowing = isFull(response, request);
    this.#budget -= jobs.length;
    if (jobs.length > 0) {
      idle?.found();
      lookAgain?.found();
      this.#takeIn(response, request);
    }
    if (this.#isFlowing) {
      signal.noteClaim(true);
      idle?.flowing();
    } else if (request.coversAll && !wasWoken) {
      signal.noteClaim(false);
      if (this.#mode === "claiming") {
        idle?.drained(more ? response.now : response.next_due_at);
        lookAgain?.drained(response.next_due_at, response.now);
      }
    }
  }

  #takeIn(response: SettleResponse, request: ClaimRequest): void {
    const { intake, runner } = this.#parts;
    if (this.#mode === "claiming") intake.accept(response.jobs, request, isFull(response, request));
    else intake.handBack(response.jobs);
    runner.startWaiting();
  }

  /** Reserves the jobs that a claim may bring (1), or returns what it has reserved (-1). */
  #reserve(request: ClaimRequest, sign: 1 | -1): void {
    this.#claimsInFlight += sign;
    this.#budget -= sign * request.limit;
    if (sign === 1) this.#parts.demand.expect(request);
    else this.#parts.demand.arrived(request);
  }

  #failed(runs: readonly Run[], error: unknown, alone: boolean): void {
    const { settlements, outage, patience } = this.#parts;
    if (runs.length > 0 && isDataError(error)) {
      settlements.refused(runs, error, alone);
      return;
    }
    settlements.failed(runs);
    patience?.failed(error);
    clearTimeout(this.#retryTimer);
    this.#retryTimer = setTimeout(
      () => {
        this.#retryTimer = undefined;
        this.turn();
      },
      outage.failed("work", error),
    );
  }

  #claimFailed({ code, message }: { readonly code: string; readonly message: string }): void {
    const { outage, patience } = this.#parts;
    clearTimeout(this.#claimRetryTimer);
    const error = Object.assign(new Error(message), { code });
    patience?.failed(error);
    this.#claimRetryTimer = setTimeout(
      () => {
        this.#claimRetryTimer = undefined;
        this.turn();
      },
      outage.failed("claim", error),
    );
  }
}

/** Whether a claim got all it asked for, or as many bytes as one response may have. */
function isFull({ jobs, more = false }: SettleResponse, { limit }: ClaimRequest): boolean {
  return jobs.length >= limit || (more && jobs.length > 0);
}
