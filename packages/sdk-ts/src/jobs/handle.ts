/** Handles: an object for one job, with the calls about it. */
import { requireObject } from "../arguments/values.ts";
import type { JobForgeClient } from "../client.ts";
import type { JobDefinition, JobOutput } from "../define/definition.ts";
import type { EnqueueOutcome } from "../words.ts";
import type { Job, JobLog, JobReason } from "./job.ts";
import type { CancelResult, JobChanges, RescheduleOptions, RescheduleResult } from "./steer.ts";
import { type WaitOptions, waitHint } from "./wait.ts";

/** The calls of a handle go through the JobForge that created it, never through a transaction. */
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

  /** The job as it is now; undefined if there is no such job. */
  get(): Promise<Job<D> | undefined> {
    return this.#forge.get<D>(this.id, { tenantId: this.tenantId, job: this.#definition });
  }

  /**
   * Waits until the job has finished, and returns what its handler returned. Rejects with a JobFailedError or a
   * JobCanceledError if the job did not succeed, with a WaitTimeoutError after `timeoutMs`, and with the signal's
   * reason if the signal is aborted.
   */
  async result(options: WaitOptions = {}): Promise<JobOutput<D>> {
    requireObject(options, "options", waitHint);
    return await this.#forge.result<D>(this.id, {
      ...options,
      tenantId: this.tenantId,
      job: this.#definition,
    });
  }

  /**
   * Why the job is not running now, or how it finished. Reasons come in the order in which to remove them. Undefined if
   * there is no such job.
   */
  explain(): Promise<JobReason[] | undefined> {
    return this.#forge.explain(this.id, this);
  }

  /** What the handler logged in each attempt, if the policy of the type keeps logs. */
  logs(): Promise<JobLog[]> {
    return this.#forge.logs(this.id, this);
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

/** The handle of a job that was just enqueued, or of the existing job that has its key. */
export class EnqueuedJob<D extends JobDefinition = JobDefinition> extends JobHandle<D> {
  readonly outcome: EnqueueOutcome;
  /**
   * The job as it was then. Undefined after `enqueueMany`, and if the job is gone because its type keeps no history.
   */
  readonly job: Job<D> | undefined;

  constructor(forge: JobForgeClient, definition: D | undefined, result: EnqueueResult<D>) {
    super(forge, definition, result.id, result.tenantId);
    this.outcome = result.outcome;
    this.job = result.job;
  }
}
