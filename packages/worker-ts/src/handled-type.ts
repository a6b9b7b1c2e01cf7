/** A type that the worker handles: its handler, its cap, and what of it runs, waits and is on its way. */
import type { JobHandler } from "@jobforge/sdk-ts";
import { Mean } from "./claiming/pace.ts";
import { Fifo } from "./fifo.ts";
import { Redactor } from "./reporting/redact.ts";
import type { Run } from "./running/run.ts";

export class HandledType {
  readonly name: string;
  readonly handler: JobHandler;
  readonly batchSize: number;
  /** Handler calls at once, at most. */
  readonly cap: number;
  readonly isCapped: boolean;
  /** Handler calls under way. */
  calls = 0;
  /** Jobs that calls on their way may bring. */
  expected = 0;
  /** Claimed jobs that have not started. */
  unstarted = 0;
  /** Those of them that wait for the cap, or for the rest of their batch. */
  readonly waiting: Fifo<Run> = new Fifo();
  /** Whether more jobs are due that would fill up the batch at hand. */
  hasMore = false;
  /** Whether a claim left this type out, because its cap was reached. */
  wasLeftOut = false;
  /** Milliseconds that one job takes. */
  readonly jobMs: Mean = new Mean();
  /** The share of this type in what was claimed last. */
  share = 0;
  /** What the type's policy says, once it is known. */
  policyTimeoutMs: number | undefined;
  /** Masks what the definition, and the policy once it is known, do not want to be logged. */
  redactor: Redactor;

  constructor(handler: JobHandler, cap: number | undefined, concurrency: number) {
    this.name = handler.definition.type;
    this.handler = handler;
    this.batchSize = handler.batchSize;
    this.cap = Math.min(cap ?? concurrency, concurrency);
    this.isCapped = this.cap < concurrency;
    this.redactor = new Redactor(handler.definition.redact);
  }

  /** The earlier of the definition's and the policy's: past the latter the kernel gives the job to somebody else. */
  get timeoutMs(): number | undefined {
    const own = this.handler.definition.timeoutMs;
    if (own === undefined || this.policyTimeoutMs === undefined) return own ?? this.policyTimeoutMs;
    return Math.min(own, this.policyTimeoutMs);
  }

  /** The policy lists keys that are not to be logged, besides those of the definition. */
  hideKeys(keys: readonly string[]): void {
    this.redactor = new Redactor([...(this.handler.definition.redact ?? []), ...keys]);
  }

  /** Whether a handler call may start now, as far as this type is concerned. */
  get mayStart(): boolean {
    return this.calls < this.cap && (this.waiting.length >= this.batchSize || !this.hasMore);
  }
}
