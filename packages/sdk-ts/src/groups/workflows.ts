/** Workflows: starting, reading and steering them. */
import { checkTenant, checkTenantOf } from "../arguments/names.ts";
import { checkDate, checkOneOf, checkRange, checkText, checkUuid, refuse } from "../arguments/values.ts";
import { traced } from "../enqueue/telemetry.ts";
import type { JobReason, OfTenant } from "../jobs/job.ts";
import { checkedPageSize, type List, listRows } from "../jobs/list.ts";
import type { DoneSignals, WaitOptions } from "../jobs/wait.ts";
import { JsonText, toJson } from "../json.ts";
import { knownOptions } from "../option-names.ts";
import { fromRow, toKeys } from "../rows.ts";
import type { CallArguments, Transport } from "../transport/transport.ts";
import { bounds, resolutions, stepKinds, stepStatuses, workflowStatuses } from "../words.ts";
import { type AddedSteps, buildSteps } from "../workflows/builder.ts";
import type {
  StartOptions,
  WorkflowDefinition,
  WorkflowInput,
  WorkflowOutput,
} from "../workflows/definition.ts";
import { StartedWorkflow, type StartResult, WorkflowHandle } from "../workflows/handle.ts";
import { type NewWorkflow, prepareStart, startArguments, startJson } from "../workflows/start.ts";
import { readDetails, waitForWorkflow } from "../workflows/wait.ts";
import type {
  AddedStepCount,
  ResolveOptions,
  SentSignal,
  SignalSendOptions,
  StepListOptions,
  Workflow,
  WorkflowBulkFilters,
  WorkflowBulkResult,
  WorkflowCancelOptions,
  WorkflowCancelResult,
  WorkflowChanges,
  WorkflowDetails,
  WorkflowFilters,
  WorkflowListOptions,
  WorkflowReference,
  WorkflowRetryOptions,
  WorkflowRetryResult,
  WorkflowStep,
} from "../workflows/workflow.ts";

/**
 * A workflow is named by its id and its tenant. Calls that need a running workflow reject with a
 * WorkflowNotRunningError if the workflow has ended.
 */
export class Workflows {
  readonly #transport: Transport;
  readonly #signals: DoneSignals;
  /** The group that handles use, because this one may end with its transaction. */
  readonly #root: Workflows;

  constructor(transport: Transport, signals: DoneSignals, root?: Workflows) {
    this.#transport = transport;
    this.#signals = signals;
    this.#root = root ?? this;
  }

  /**
   * Starts a workflow and returns a handle with its outcome: `created`, or `existing` if another workflow has the key.
   * The definition's schema checks the input first. All steps are created, or none. In a transaction, the call is sent
   * before this method returns, unless the schema is asynchronous.
   */
  async start<W extends WorkflowDefinition>(
    workflow: W,
    input: WorkflowInput<W>,
    options: StartOptions,
  ): Promise<StartedWorkflow<W>> {
    const ready = prepareStart(workflow, input, traced(options));
    // No await in the usual case: in a transaction, the call must be sent before the caller can end it.
    const prepared = ready instanceof Promise ? await ready : ready;
    const row = await this.#transport.call<StartResult>("jobforge_start_workflow", startArguments(prepared));
    return new StartedWorkflow<W>(this.#root, workflow, { ...row, tenantId: prepared.tenantId });
  }

  /** Starts up to 1,000 workflows of a tenant in one commit: all of them or none. Returns their handles in order. */
  async startMany<const Ws extends readonly WorkflowDefinition[]>(
    workflows: { readonly [K in keyof Ws]: NewWorkflow<Ws[K]> },
    tenant: OfTenant,
  ): Promise<{ -readonly [K in keyof Ws]: StartedWorkflow<Ws[K]> }> {
    checkTenantOf(tenant);
    if (!Array.isArray(workflows))
      refuse("workflows", "must be an array", "Pass [{ workflow, input, … }, …].");
    const list: readonly NewWorkflow[] = workflows;
    checkRange(list.length, "workflows.length", bounds.startMany);
    const { tenantId } = tenant;
    const prepared = list.map(({ workflow, input, ...own }, index) =>
      prepareStart(workflow, input, traced({ ...own, tenantId }), `workflows[${index}].`),
    );
    const waits = prepared.some((each) => each instanceof Promise);
    const ready = (waits ? await Promise.all(prepared) : prepared) as Awaited<(typeof prepared)[number]>[];
    const rows = await this.#transport.call<StartResult[]>("jobforge_start_workflows", {
      p_tenant_id: tenantId,
      p_workflows: new JsonText(`[${ready.map(startJson).join()}]`),
    });
    const handles = rows.map(
      (row, index) => new StartedWorkflow(this.#root, list[index]?.workflow, { ...row, tenantId }),
    );
    return handles as { -readonly [K in keyof Ws]: StartedWorkflow<Ws[K]> };
  }

  /** A handle for a known workflow id. It makes no call. */
  handle<W extends WorkflowDefinition = WorkflowDefinition>(
    id: string,
    reference: WorkflowReference<W>,
  ): WorkflowHandle<W> {
    checkReference(id, reference);
    return new WorkflowHandle<W>(this.#root, reference.workflow, id, reference.tenantId);
  }

  /** The workflow as it is now, with counts of its steps; undefined if the tenant has no workflow with this id. */
  async get<W extends WorkflowDefinition = WorkflowDefinition>(
    id: string,
    reference: WorkflowReference<W>,
  ): Promise<WorkflowDetails<W> | undefined> {
    return readDetails<W>(await this.#call("jobforge_get_workflow", id, reference));
  }

  /**
   * What a workflow waits for, or how it ended, the most important reason first; undefined if the tenant has no
   * workflow with this id.
   */
  async explain(id: string, tenant: OfTenant): Promise<JobReason[] | undefined> {
    return (await this.#call<JobReason[] | null>("jobforge_explain_workflow", id, tenant)) ?? undefined;
  }

  /** The workflows of a tenant, newest first. */
  list(options: WorkflowListOptions): List<Workflow> {
    checkTenant(knownOptions(options, "workflows").tenantId);
    const filters = filterKeys(options);
    return listRows(checkedPageSize(options), (page) =>
      this.#transport.call("jobforge_list_workflows", {
        p_tenant_id: options.tenantId,
        p_filters: { ...filters, ...page },
      }),
    );
  }

  /** The steps of a workflow, in the order in which they were made. */
  steps(id: string, options: StepListOptions): List<WorkflowStep> {
    checkReference(id, knownOptions(options, "workflowSteps"));
    const { status, kind, group } = options;
    for (const each of [status ?? []].flat()) checkOneOf(each, "status", stepStatuses);
    for (const each of [kind ?? []].flat()) checkOneOf(each, "kind", stepKinds);
    const filters = toKeys({ status, kind, group });
    return listRows(checkedPageSize(options), (page) =>
      this.#call("jobforge_list_steps", id, options, { p_filters: { ...filters, ...page } }),
    );
  }

  /** Waits until a workflow has ended and returns its output. See `WorkflowHandle.result`. */
  async result<W extends WorkflowDefinition = WorkflowDefinition>(
    id: string,
    options: WaitOptions & WorkflowReference<W>,
  ): Promise<WorkflowOutput<W>> {
    checkReference(id, knownOptions(options, "workflowWait"));
    // Not in the transaction: no worker sees the workflow before the commit.
    return await waitForWorkflow<W>(this.#root.#transport, this.#signals, { ...options, id });
  }

  /**
   * Cancels the workflow: queued jobs at once, running ones are asked to stop, and nothing new starts except steps for
   * cleanup. The workflow has ended when its last job has.
   */
  async cancel(id: string, options: WorkflowCancelOptions & OfTenant): Promise<WorkflowCancelResult> {
    const { reason } = knownOptions(options, "workflowCancel");
    if (reason !== undefined) checkText(reason, "reason", bounds.reasonBytes);
    return fromRow(await this.#call<object>("jobforge_cancel_workflow", id, options, { p_reason: reason }));
  }

  /**
   * Runs the steps that ended badly again, and what was canceled because of them. Steps that succeeded keep their
   * results. Rejects with a WorkflowNotRetryableError if nothing ended badly, or if the workflow was canceled.
   */
  async retry(id: string, options: WorkflowRetryOptions & OfTenant): Promise<WorkflowRetryResult> {
    const { steps, downstream, reset } = knownOptions(options, "workflowRetry");
    const more = { p_steps: steps, p_downstream: downstream, p_reset: reset };
    return fromRow(await this.#call<object>("jobforge_retry_workflow", id, options, more));
  }

  /** Cancels the running workflows of a tenant that match all given filters, up to a limit, the newest first. */
  async cancelMany(filters: WorkflowBulkFilters): Promise<WorkflowBulkResult> {
    return await this.#changeMany("jobforge_cancel_workflows", filters);
  }

  /** Retries the failed workflows of a tenant that match all given filters, up to a limit, the newest first. */
  async retryMany(filters: WorkflowBulkFilters): Promise<WorkflowBulkResult> {
    return await this.#changeMany("jobforge_retry_workflows", filters);
  }

  /** Changes the deadline, the priority or the tags of a workflow that runs: only what is given. */
  async update(id: string, changes: WorkflowChanges & OfTenant): Promise<Workflow> {
    const { deadline, priority, tags } = knownOptions(changes, "workflowChanges");
    if (deadline !== undefined && deadline !== null) checkDate(deadline, "deadline");
    const more = { p_changes: toKeys({ deadline, priority, tags }) };
    return fromRow<Workflow>(await this.#call<object>("jobforge_update_workflow", id, changes, more));
  }

  /**
   * Adds steps to a workflow that runs. They may need its steps: `w.existing("extract")`. A step that exists with the
   * same definition is not added again, so the call may be repeated. A handler adds steps with `job.addSteps()`.
   */
  async addSteps(id: string, build: (w: AddedSteps) => void, tenant: OfTenant): Promise<AddedStepCount> {
    const w = buildSteps(build);
    return await this.#call<AddedStepCount>("jobforge_add_steps", id, tenant, {
      p_steps: new JsonText(JSON.stringify(w.json)),
    });
  }

  /** Ends a step that ended badly in another way, by hand. `step` is its path, such as `each[17]`. */
  async resolve(id: string, step: string, options: ResolveOptions): Promise<void> {
    const { status, result } = knownOptions(options, "resolve");
    checkText(step, "step", bounds.stepPathBytes);
    checkOneOf(status, "status", resolutions);
    await this.#call("jobforge_resolve_step", id, options, {
      p_step: step,
      p_status: status,
      p_result: result === undefined ? undefined : toJson(result, "result"),
    });
  }

  /** Sends a signal to a workflow. It is kept until a step takes it. Each is taken once, the oldest first. */
  async signal(id: string, name: string, payload: unknown, options: SignalSendOptions): Promise<SentSignal> {
    const { key } = knownOptions(options, "signal");
    checkText(name, "name");
    if (key !== undefined) checkText(key, "key");
    checkReference(id, options);
    return await this.#transport.call<SentSignal>("jobforge_send_signal", {
      p_tenant_id: options.tenantId,
      p_target_id: id,
      p_name: name,
      p_payload: payload === undefined ? undefined : toJson(payload, "payload"),
      p_key: key,
    });
  }

  async #changeMany(name: string, filters: WorkflowBulkFilters): Promise<WorkflowBulkResult> {
    checkTenant(knownOptions(filters, "workflowBulk").tenantId);
    return await this.#transport.call<WorkflowBulkResult>(name, {
      p_tenant_id: filters.tenantId,
      p_filters: filterKeys(filters),
      p_limit: filters.limit,
    });
  }

  async #call<T>(name: string, id: string, tenant: OfTenant, more: CallArguments = {}): Promise<T> {
    checkReference(id, tenant);
    return await this.#transport.call<T>(name, { p_workflow_id: id, p_tenant_id: tenant.tenantId, ...more });
  }
}

function checkReference(id: string, tenant: OfTenant): void {
  checkUuid(id, "id", "Pass the id of a workflow, which is `id` of what start() returns.");
  checkTenantOf(tenant);
}

/** The filters under the kernel's keys. An invalid Date serializes to null, which filters nothing. */
function filterKeys({
  status,
  name,
  tags,
  subject,
  createdAfter,
  createdBefore,
}: WorkflowFilters): Record<string, unknown> {
  for (const each of [status ?? []].flat()) checkOneOf(each, "status", workflowStatuses);
  if (createdAfter !== undefined) checkDate(createdAfter, "createdAfter");
  if (createdBefore !== undefined) checkDate(createdBefore, "createdBefore");
  return toKeys({ status, name, tags, subject, createdAfter, createdBefore });
}
