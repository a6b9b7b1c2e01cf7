/** One run: a job in one attempt, from its claim to the kernel's word that its end was kept. */

import type { ClaimedJob, Held, RunEnd } from "../claiming/protocol.ts";
import type { JobAbortedError } from "../errors.ts";
import type { HandledType } from "../handled-type.ts";
import type { RunTrace } from "../reporting/trace.ts";

/**
 * waiting: claimed, not started · running: its handler was called · ending: its end is known and on its way · over: the kernel
 * has answered, or nobody waits for it any more
 */
export type RunState = "waiting" | "running" | "ending" | "over";

/** What `defer()`, `fail()` or `retryAfter()` said. */
export type Verdict = Omit<RunEnd, "id" | "attempt">;

export class Run implements Held {
  readonly job: ClaimedJob;
  readonly type: HandledType;
  state: RunState = "waiting";
  /** On the clock of performance.now(), as are the others. */
  readonly claimedAt: number;
  startedAt = 0;
  endedAt = 0;
  /** How it ended, once that is known, and the same as JSON. */
  end: RunEnd | undefined;
  endJson = "";
  aborted: JobAbortedError | undefined;
  verdict: Verdict | undefined;
  costCents: number | undefined;
  /** When the schedule runs next, as the handler said. */
  nextRunAt: string | undefined;
  /** Children to enqueue with a success; promises, because a schema may need time to check their input. */
  children: Promise<unknown>[] | undefined;
  trace: RunTrace | undefined;
  #controller: AbortController | undefined;

  constructor(job: ClaimedJob, type: HandledType, claimedAt: number) {
    this.job = job;
    this.type = type;
    this.claimedAt = claimedAt;
  }

  get id(): string {
    return this.job.id;
  }

  get attempt(): number {
    return this.job.attempts;
  }

  /** Made when somebody asks for it: most handlers do not. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.aborted !== undefined) this.#controller.abort(this.aborted);
    }
    return this.#controller.signal;
  }

  /** Aborts the handler's signal, once. A lost lease outdoes any other reason, because nothing can be written any more. */
  abort(reason: JobAbortedError): void {
    if (this.aborted !== undefined && reason.kind !== "lost") return;
    this.aborted = reason;
    this.#controller?.abort(reason);
  }

  /** Milliseconds the handler took, or has taken so far. */
  get durationMs(): number {
    if (this.startedAt === 0) return 0;
    return Math.round((this.endedAt || performance.now()) - this.startedAt);
  }
}
