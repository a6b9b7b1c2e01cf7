/** Workflows and their steps as reads return them, and the options and results of the calls about them. */
import type { JobFailure, OfTenant } from "../jobs/job.ts";
import type { PageOptions } from "../jobs/list.ts";
import type {
  FailureAction,
  NeedPolicy,
  Resolution,
  StartOutcome,
  StepKind,
  StepStatus,
  WorkflowStatus,
} from "../words.ts";
import type { WorkflowDefinition, WorkflowOutput } from "./definition.ts";

export interface Workflow<W extends WorkflowDefinition = WorkflowDefinition> {
  readonly id: string;
  readonly tenantId: string;
  readonly name: W["name"];
  readonly version: string | undefined;
  readonly status: WorkflowStatus;
  /** Why it ended: `done`, `failed`, `canceled`, `deadline` or `output_too_large`; undefined while it runs. */
  readonly reason: string | undefined;
  readonly input: unknown;
  /** What the workflow returned; undefined until it has succeeded. */
  readonly output: WorkflowOutput<W> | undefined;
  readonly idempotencyKey: string | undefined;
  readonly dedupeKey: string | undefined;
  readonly subject: string | undefined;
  readonly tags: readonly string[];
  readonly priority: number;
  readonly createdAt: Date;
  readonly finishedAt: Date | undefined;
  readonly deadline: Date | undefined;
  readonly onFailure: FailureAction;
  /** When it was canceled, by which login, and why. */
  readonly cancelAt: Date | undefined;
  readonly cancelBy: string | undefined;
  readonly cancelReason: string | undefined;
  readonly retentionDays: number;
  readonly traceparent: string | undefined;
  readonly stepCount: number;
  readonly tenantLabel: string | undefined;
  /** The job whose handler started it with `job.run()` or `job.all()`, and waits for it. */
  readonly parentId: string | undefined;
}

/** A workflow with the state of its steps. */
export interface WorkflowDetails<W extends WorkflowDefinition = WorkflowDefinition> extends Workflow<W> {
  /** How many steps have each status. */
  readonly counts: Readonly<Partial<Record<StepStatus, number>>>;
  /** The signals that it waits for. */
  readonly waits: readonly WorkflowWait[];
  /** Up to ten steps that ended badly. */
  readonly failed: readonly FailedStep[];
  /** True if there are more than 10,000 steps: then `counts` has only that many. */
  readonly estimated?: true | undefined;
}

export interface WorkflowWait {
  readonly step: string;
  readonly signal: string;
  readonly since: Date;
  readonly until: Date | undefined;
}

export interface FailedStep {
  readonly step: string;
  readonly status: StepStatus;
  readonly reason: string | undefined;
  readonly error: JobFailure | undefined;
  readonly jobId: string | undefined;
}

/** A step of a workflow that was started. */
export interface WorkflowStep {
  readonly id: string;
  readonly workflowId: string;
  readonly groupId: string | undefined;
  readonly tenantId: string;
  /** Its name in the whole workflow, such as `each[17]` or `sub/x`. */
  readonly path: string;
  /** Its name in its list of steps; undefined for an item of a map. */
  readonly name: string | undefined;
  /** Its place in its list of steps, from 1; of an item of a map: its index, from 0. */
  readonly index: number;
  readonly kind: StepKind;
  readonly type: string | undefined;
  readonly status: StepStatus;
  readonly reason: string | undefined;
  readonly needs: readonly { readonly step: string; readonly policy: NeedPolicy }[];
  /** Its current job. */
  readonly jobId: string | undefined;
  readonly openedAt: Date | undefined;
  readonly decidedAt: Date | undefined;
  readonly endedAt: Date | undefined;
  /** With its references. */
  readonly payload: unknown;
  readonly result: unknown;
  readonly error: JobFailure | undefined;
  readonly costCents: number | undefined;
  readonly optional: boolean;
  readonly cleanup: boolean;
}

/** The tenant, and optionally the definition that types the result. */
export interface WorkflowReference<W extends WorkflowDefinition = WorkflowDefinition> extends OfTenant {
  readonly workflow?: W | undefined;
}

/** Selects workflows. A workflow must match all given filters. */
export interface WorkflowFilters {
  readonly status?: WorkflowStatus | readonly WorkflowStatus[] | undefined;
  readonly name?: string | readonly string[] | undefined;
  readonly tags?: string | readonly string[] | undefined;
  readonly subject?: string | undefined;
  readonly createdAfter?: Date | undefined;
  readonly createdBefore?: Date | undefined;
}

export interface WorkflowListOptions extends WorkflowFilters, OfTenant, PageOptions {}

export interface StepListOptions extends OfTenant, PageOptions {
  readonly status?: StepStatus | readonly StepStatus[] | undefined;
  readonly kind?: StepKind | readonly StepKind[] | undefined;
  /** The path of a map or a sub-workflow: only the steps in it. */
  readonly group?: string | undefined;
}

export interface WorkflowCancelOptions {
  readonly reason?: string | undefined;
}

export interface WorkflowCancelResult {
  readonly id: string;
  readonly status: WorkflowStatus;
  /** Queued jobs that were canceled at once. */
  readonly canceled: number;
  /** Running jobs that were asked to stop. */
  readonly requested: number;
}

export interface WorkflowRetryOptions {
  /** The paths of the steps to retry. Default: all that ended badly. */
  readonly steps?: readonly string[] | undefined;
  /** If true, everything that followed the retried steps runs again as well. */
  readonly downstream?: boolean | undefined;
  /**
   * If true, handlers with durable steps begin anew: their checkpoints and ended children are deleted, and signals may
   * be taken again. Otherwise they go on behind what they have saved.
   */
  readonly reset?: boolean | undefined;
}

export interface WorkflowRetryResult {
  readonly id: string;
  /** Steps that have started again. */
  readonly retried: number;
  /** Steps that wait for these. */
  readonly blocked: number;
}

/** Selects workflows to cancel or to retry: at least one filter. */
export interface WorkflowBulkFilters extends WorkflowFilters, OfTenant {
  /** How many workflows are changed at most. Default 100, at most 1000. */
  readonly limit?: number | undefined;
}

export interface WorkflowBulkResult {
  readonly matched: number;
  /** Fewer than `matched` if other transactions hold some of them, or if they need no change. */
  readonly changed: number;
}

/** What can change in a workflow that runs. */
export interface WorkflowChanges {
  /** Null removes the deadline. */
  readonly deadline?: Date | null | undefined;
  /** Of the steps that have none of their own and do not run yet. */
  readonly priority?: number | undefined;
  /** Of the steps that have none of their own and have not started. */
  readonly tags?: readonly string[] | undefined;
}

export interface AddStepsOptions {
  /** If true, only the end of the workflow waits for the steps, and not what needs the step that adds them. */
  readonly detached?: boolean | undefined;
}

export interface AddedStepCount {
  readonly added: number;
  /** Steps that were there before, with the same definition. */
  readonly existing: number;
}

/** How a step was repaired by hand. */
export interface ResolveOptions extends OfTenant {
  readonly status: Resolution;
  /** The result of a step that is resolved as succeeded. */
  readonly result?: unknown;
}

export interface SignalSendOptions extends OfTenant {
  /** A signal with the same target, name and key is sent only once. */
  readonly key?: string | undefined;
}

export interface SentSignal {
  readonly outcome: StartOutcome;
  /** Whether a step that waited for it has taken it already. If not, it is kept until one does. */
  readonly taken: boolean;
}
