/** Handles: an object for one workflow, with the calls about it. */
import { requireObject } from "../arguments/values.ts";
import type { Workflows } from "../groups/workflows.ts";
import type { JobReason } from "../jobs/job.ts";
import type { List } from "../jobs/list.ts";
import { type WaitOptions, waitHint } from "../jobs/wait.ts";
import type { StartOutcome, WorkflowStatus } from "../words.ts";
import type { WorkflowDefinition, WorkflowOutput } from "./definition.ts";
import type {
  SentSignal,
  StepListOptions,
  WorkflowCancelOptions,
  WorkflowCancelResult,
  WorkflowDetails,
  WorkflowRetryOptions,
  WorkflowRetryResult,
  WorkflowStep,
} from "./workflow.ts";

/** The calls of a handle go through the JobForge that created it, never through a transaction. */
export class WorkflowHandle<W extends WorkflowDefinition = WorkflowDefinition> {
  readonly id: string;
  readonly tenantId: string;
  readonly #workflows: Workflows;
  readonly #definition: W | undefined;

  constructor(workflows: Workflows, definition: W | undefined, id: string, tenantId: string) {
    this.#workflows = workflows;
    this.#definition = definition;
    this.id = id;
    this.tenantId = tenantId;
  }

  /** The workflow as it is now; undefined if there is no such workflow. */
  get(): Promise<WorkflowDetails<W> | undefined> {
    return this.#workflows.get<W>(this.id, { tenantId: this.tenantId, workflow: this.#definition });
  }

  /** What the workflow waits for, or how it ended. See `workflows.explain`. */
  explain(): Promise<JobReason[] | undefined> {
    return this.#workflows.explain(this.id, { tenantId: this.tenantId });
  }

  /**
   * Waits until the workflow has ended, and returns its output. Rejects with a WorkflowFailedError or a
   * WorkflowCanceledError if it did not succeed, with a WaitTimeoutError after `timeoutMs`, and with the signal's
   * reason if the signal is aborted.
   */
  async result(options: WaitOptions = {}): Promise<WorkflowOutput<W>> {
    requireObject(options, "options", waitHint);
    const reference = { tenantId: this.tenantId, workflow: this.#definition };
    return await this.#workflows.result<W>(this.id, { ...options, ...reference });
  }

  /** Its steps, in the order in which they were made. */
  steps(options: Omit<StepListOptions, "tenantId"> = {}): List<WorkflowStep> {
    return this.#workflows.steps(this.id, { ...options, tenantId: this.tenantId });
  }

  /** Sends a signal to the workflow. See `workflows.signal`. */
  signal(name: string, payload?: unknown, options: { readonly key?: string } = {}): Promise<SentSignal> {
    return this.#workflows.signal(this.id, name, payload, { ...options, tenantId: this.tenantId });
  }

  cancel(options: WorkflowCancelOptions = {}): Promise<WorkflowCancelResult> {
    return this.#workflows.cancel(this.id, { ...options, tenantId: this.tenantId });
  }

  /** Runs what ended badly again. See `workflows.retry`. */
  retry(options: WorkflowRetryOptions = {}): Promise<WorkflowRetryResult> {
    return this.#workflows.retry(this.id, { ...options, tenantId: this.tenantId });
  }
}

export interface StartResult {
  readonly id: string;
  readonly tenantId: string;
  readonly outcome: StartOutcome;
  readonly status: WorkflowStatus;
  readonly steps: Readonly<Record<string, string>>;
}

/** The handle of a workflow that was just started, or of the existing workflow that has its key. */
export class StartedWorkflow<W extends WorkflowDefinition = WorkflowDefinition> extends WorkflowHandle<W> {
  readonly outcome: StartOutcome;
  /** The status at the time of the start. */
  readonly status: WorkflowStatus;
  /** The ids of its steps, by name. */
  readonly stepIds: Readonly<Record<string, string>>;

  constructor(workflows: Workflows, definition: W | undefined, result: StartResult) {
    super(workflows, definition, result.id, result.tenantId);
    this.outcome = result.outcome;
    this.status = result.status;
    this.stepIds = result.steps;
  }
}
