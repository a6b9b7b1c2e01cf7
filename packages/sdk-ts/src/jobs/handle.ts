/** A job that somebody holds on to: what it is, and what can be done about it. */

import type {
  CancelResult,
  JobChanges,
  JobForgeClient,
  RescheduleOptions,
  RescheduleResult,
} from "../client.ts";
import type { JobDefinition, JobOutput } from "../define/definition.ts";
import type { EnqueueOutcome } from "../words.ts";
import type { Job, JobReason } from "./job.ts";
import type { WaitOptions } from "./wait.ts";

/** The calls of a handle go through the JobForge it came from, never through a transaction it was made in. */
export class JobHandle<D extends JobDefinition = JobDefinition> {
  readonly id: string;
  readonly tenantId: string;
  readonly #forge: JobForgeClient;
  readonly #definition: D | undefined;

  constructor(forge: JobForgeClient, definition: D | undefined, id: string, tenantId: string) {
    this.#forge = forge;
    this.#definition = definition;
    this.id = id;
    this.tenantId = tenantId;
  }

  /** The job as it is now; undefined when there is none. */
  get(): Promise<Job<D> | undefined> {
    return this.#forge.get<D>(this.id, { tenantId: this.tenantId, job: this.#definition });
  }

  /**
   * Waits for the job's end and answers what its handler returned. Fails with a JobFailedError or JobCanceledError when it ended otherwise,
   * with a WaitTimeoutError after `timeoutMs`, with the signal's reason when that is aborted.
   */
  result(options: WaitOptions = {}): Promise<JobOutput<D>> {
    return this.#forge.result<D>(this.id, { ...options, tenantId: this.tenantId, job: this.#definition });
  }

  /** Why it is not running now, or what became of it, the first reason first; undefined when there is no such job. */
  explain(): Promise<JobReason[] | undefined> {
    return this.#forge.explain(this.id, this);
  }

  cancel(): Promise<CancelResult> {
    return this.#forge.cancel(this.id, this);
  }

  reschedule(options: RescheduleOptions = {}): Promise<RescheduleResult> {
    return this.#forge.reschedule(this.id, { ...options, tenantId: this.tenantId });
  }

  update(changes: JobChanges<D>): Promise<Job<D>> {
    return this.#forge.update<D>(this.id, changes, { tenantId: this.tenantId, job: this.#definition });
  }
}

export interface EnqueueResult<D extends JobDefinition = JobDefinition> {
  readonly id: string;
  readonly tenantId: string;
  readonly outcome: EnqueueOutcome;
  readonly job?: Job<D> | undefined;
}

/** A job that was just enqueued, or the one that answered for it. */
export class EnqueuedJob<D extends JobDefinition = JobDefinition> extends JobHandle<D> {
  readonly outcome: EnqueueOutcome;
  /** The job as it was then. Not after `enqueueMany`, nor when its type keeps no history and it is gone. */
  readonly job: Job<D> | undefined;

  constructor(forge: JobForgeClient, definition: D | undefined, result: EnqueueResult<D>) {
    super(forge, definition, result.id, result.tenantId);
    this.outcome = result.outcome;
    this.job = result.job;
  }
}
