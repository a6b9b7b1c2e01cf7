/** Handles: an object for one job in Redis, with the calls about it. */
import type {
  CancelResult,
  EnqueueOutcome,
  Job,
  JobDefinition,
  JobOutput,
  WaitOptions,
} from "@jobforge/sdk-ts";
import type { BullForge } from "../bull-forge.ts";

export class BullJobHandle<D extends JobDefinition = JobDefinition> {
  readonly id: string;
  readonly tenantId: string;
  readonly #forge: BullForge;
  readonly #definition: D;

  constructor(forge: BullForge, definition: D, id: string, tenantId: string) {
    this.#forge = forge;
    this.#definition = definition;
    this.id = id;
    this.tenantId = tenantId;
  }

  /** The job as it is now; undefined if there is no such job, or if it was removed after it had ended. */
  get(): Promise<Job<D> | undefined> {
    return this.#forge.get<D>(this.id, { tenantId: this.tenantId, job: this.#definition });
  }

  /**
   * Waits until the job has finished, and returns what its handler returned. Rejects with a JobFailedError or a
   * JobCanceledError if the job did not succeed, with a WaitTimeoutError after `timeoutMs`, and with the signal's
   * reason if the signal is aborted.
   */
  result(options: WaitOptions = {}): Promise<JobOutput<D>> {
    return this.#forge.result<D>(this.id, { ...options, tenantId: this.tenantId, job: this.#definition });
  }

  /** Cancels the job: when a worker next sees it, or at the worker's next heartbeat if it runs. */
  cancel(): Promise<CancelResult> {
    return this.#forge.cancel(this.id, { tenantId: this.tenantId, job: this.#definition });
  }
}

/** The handle of a job that was just enqueued, or of the existing job that has its key. */
export class EnqueuedBullJob<D extends JobDefinition = JobDefinition> extends BullJobHandle<D> {
  readonly outcome: EnqueueOutcome;

  constructor(
    forge: BullForge,
    definition: D,
    enqueued: { readonly id: string; readonly tenantId: string; readonly outcome: EnqueueOutcome },
  ) {
    super(forge, definition, enqueued.id, enqueued.tenantId);
    this.outcome = enqueued.outcome;
  }
}
