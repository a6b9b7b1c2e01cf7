/**
 * One run: a job in one attempt, from its claim until the database has confirmed its end.
 *
 * Its state changes only through the methods of this class:
 *
 * - `waiting` -> `running`: its handler is called (`start`).
 * - `running` -> `ending`: its end is known and on its way to the database (`beginEnding`).
 * - `waiting` -> `ending`: it is handed back before it started (`beginEnding`).
 * - `ending` -> `running`: the transaction that should have ended it was rolled back (`continueRunning`).
 * - any state -> `ended`: the database has confirmed the end, or the lease is lost (`close`).
 */
import type { AddedSteps } from "@jobforge/sdk-ts";
import type { ClaimedJob, RunEnd, RunKey } from "../claiming/protocol.ts";
import type { JobAbortedError } from "../errors.ts";
import type { HandledType } from "../handled-type.ts";
import type { KeptLog } from "../reporting/kept-log.ts";
import type { RunTrace } from "../reporting/trace.ts";

export type RunState = "waiting" | "running" | "ending" | "ended";

/** How a run ends, or what `defer()`, `fail()` or `retryAfter()` asked for. */
export type Verdict = Omit<RunEnd, "id" | "attempt">;

export class Run implements RunKey {
  readonly job: ClaimedJob;
  readonly type: HandledType;
  /** A time of performance.now(), like `startedAt` and `endedAt`. */
  readonly claimedAt: number;
  /** Whether an enqueue has handed the job to this worker. */
  readonly isHanded: boolean;
  /** How it ended, once that is known, and the same as JSON. */
  end: RunEnd | undefined;
  endJson = "";
  verdict: Verdict | undefined;
  costCents: number | undefined;
  /** The next time of the schedule, as the handler set it. */
  nextRunAt: string | undefined;
  /** Children to enqueue on success. They are promises because a schema may check their input asynchronously. */
  children: Promise<unknown>[] | undefined;
  /** Steps to add to the workflow on success. */
  added: { readonly w: AddedSteps; readonly detached: boolean } | undefined;
  /** What the handler has logged, if it may be kept with the attempt. */
  keptLog: KeptLog | undefined;
  trace: RunTrace | undefined;
  #state: RunState = "waiting";
  #startedAt = 0;
  #endedAt = 0;
  #aborted: JobAbortedError | undefined;
  #controller: AbortController | undefined;

  constructor(job: ClaimedJob, type: HandledType, claimedAt: number, isHanded = false) {
    this.job = job;
    this.type = type;
    this.claimedAt = claimedAt;
    this.isHanded = isHanded;
  }

  /**
   * Whether its end makes no other job ready: nothing has restrained jobs of its type when it was handed over, and its
   * handler has added none.
   */
  get endsQuietly(): boolean {
    return (
      this.isHanded &&
      this.end?.status === "succeeded" &&
      this.end.children === undefined &&
      this.end.steps === undefined
    );
  }

  get id(): string {
    return this.job.id;
  }

  get attempt(): number {
    return this.job.attempts;
  }

  get state(): RunState {
    return this.#state;
  }

  get startedAt(): number {
    return this.#startedAt;
  }

  /** The handler is about to be called. A run that was lost while it waited stays `ended`. */
  start(now: number): void {
    this.#startedAt = now;
    if (this.#state === "waiting") this.#state = "running";
  }

  /** The end of the run is on its way to the database. */
  beginEnding(): void {
    this.#state = "ending";
  }

  /** The transaction with the run's end was rolled back. */
  continueRunning(): void {
    if (this.#state === "ending") this.#state = "running";
  }

  /** The database has confirmed the run's end, or the run is no longer this worker's. */
  close(): void {
    this.#state = "ended";
  }

  /** The handler's time stops. */
  stopClock(): void {
    this.#endedAt = performance.now();
  }

  /** Milliseconds that the handler took, or has taken so far. */
  get durationMs(): number {
    if (this.#startedAt === 0) return 0;
    return Math.round((this.#endedAt || performance.now()) - this.#startedAt);
  }

  /** The reason of the abort, if there was one. */
  get aborted(): JobAbortedError | undefined {
    return this.#aborted;
  }

  /** Created on demand, because most handlers do not use it. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted);
    }
    return this.#controller.signal;
  }

  /**
   * Aborts the handler's signal, once. A lost lease replaces any other reason, because writes are no longer possible.
   */
  abort(reason: JobAbortedError): void {
    if (this.#aborted !== undefined && reason.kind !== "lost") return;
    this.#aborted = reason;
    this.#controller?.abort(reason);
  }
}
