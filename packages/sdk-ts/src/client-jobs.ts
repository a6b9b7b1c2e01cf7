/** The calls about jobs that exist: reading them and steering them. */
import { checkMaxAttempts, checkPriority } from "./arguments/enqueue.ts";
import { checkTenant, checkTenantOf } from "./arguments/names.ts";
import { checkDate, checkTags, checkUuid } from "./arguments/values.ts";
import { ClientGroups } from "./client-groups.ts";
import type { JobDefinition } from "./define/definition.ts";
import { checkPayload } from "./enqueue/payload.ts";
import { InvalidArgumentError } from "./errors.ts";
import { listAttempts, listLogs } from "./jobs/attempts.ts";
import type { Job, JobAttempt, JobLog, JobOf, JobReason, OfTenant } from "./jobs/job.ts";
import { type List, type ListOptions, listJobs } from "./jobs/list.ts";
import {
  type BulkFilters,
  type BulkResult,
  type CancelResult,
  type CopyChanges,
  changeJobs,
  type JobChanges,
  type JobReference,
  type RescheduleOptions,
  type RescheduleResult,
} from "./jobs/steer.ts";
import { knownOptions } from "./option-names.ts";
import { fromRow, toKeys } from "./rows.ts";
import type { CallArguments } from "./transport/transport.ts";

export class ClientJobs extends ClientGroups {
  /** The job as it is now; undefined if the tenant has no job with this id. */
  async get<D extends JobDefinition = JobDefinition>(
    id: string,
    reference: JobReference<D>,
  ): Promise<Job<D> | undefined> {
    const [row] = await this.#ofJob<object[]>("jobforge_get_job", id, reference);
    if (row === undefined) return undefined;
    return checkedJob(fromRow<Job<D>>(row), reference.job);
  }

  /** The jobs of a tenant, newest first: `for await (const job of forge.list({ tenantId }))`, or page by page. */
  list<D extends JobDefinition = JobDefinition>(options: ListOptions<D>): List<JobOf<D>> {
    checkTenant(knownOptions(options, "list").tenantId);
    return listJobs<D>(this.transport, options);
  }

  /** The attempts of a job, the first one first. */
  async attempts(id: string, tenant: OfTenant): Promise<JobAttempt[]> {
    return await listAttempts((p_after) => this.#ofJob("jobforge_list_attempts", id, tenant, { p_after }));
  }

  /** What the handler logged in each attempt, if the policy of the type keeps logs (`keepLogs`). */
  async logs(id: string, tenant: OfTenant): Promise<JobLog[]> {
    return await listLogs((p_after) => this.#ofJob("jobforge_list_logs", id, tenant, { p_after }));
  }

  /**
   * Why a job is not running now, or how it finished. Reasons come in the order in which to remove them. Undefined if
   * there is no such job.
   */
  async explain(id: string, tenant: OfTenant): Promise<JobReason[] | undefined> {
    return (await this.#ofJob<JobReason[] | null>("jobforge_explain_job", id, tenant)) ?? undefined;
  }

  /** Cancels a queued job at once. Asks a running job to stop: it is canceled when its run ends. */
  async cancel(id: string, tenant: OfTenant): Promise<CancelResult> {
    return fromRow(await this.#ofJob<object>("jobforge_cancel_job", id, tenant));
  }

  /**
   * Cancels the jobs that match the filters. At least one filter is required; `limit` is 1000, at most 10,000, per
   * call.
   */
  cancelMany(filters: BulkFilters): Promise<BulkResult> {
    return changeJobs(this.transport, "cancel", filters);
  }

  /** Runs a queued, failed or dead job now or at another time. A failed or dead job gets a new budget of executions. */
  async reschedule(id: string, options: RescheduleOptions & OfTenant): Promise<RescheduleResult> {
    const { runAt, maxAttempts, payload } = knownOptions(options, "reschedule");
    if (runAt !== undefined) checkDate(runAt, "runAt");
    if (maxAttempts !== undefined) checkMaxAttempts(maxAttempts, "maxAttempts");
    if (payload !== undefined) await checkPayload(undefined, payload, "payload").checked;
    const row = await this.#ofJob<object>("jobforge_reschedule_job", id, options, {
      p_run_at: runAt,
      p_max_attempts: maxAttempts,
      p_payload: payload,
    });
    return fromRow(row);
  }

  /**
   * Enqueues a new job like another one, whatever its status, with changes. Undefined if there is no such job. If a
   * definition is given, its schema checks a new payload.
   */
  async copy<D extends JobDefinition = JobDefinition>(
    id: string,
    changes: CopyChanges<D>,
    reference: JobReference<D>,
  ): Promise<Job<D> | undefined> {
    const { payload, priority, tags, runAt, maxAttempts } = knownOptions(changes, "copy", "changes");
    checkReference(id, reference);
    if (priority !== undefined) checkPriority(priority, "priority");
    if (tags !== undefined) checkTags(tags, "tags");
    if (runAt !== undefined) checkDate(runAt, "runAt");
    if (maxAttempts !== undefined) checkMaxAttempts(maxAttempts, "maxAttempts");
    if (payload !== undefined) await checkPayload(reference.job?.input, payload, "payload").checked;
    const row = await this.#ofJob<object | null>("jobforge_copy_job", id, reference, {
      p_changes: toKeys({ payload, priority, tags, runAt, maxAttempts }),
    });
    return row === null ? undefined : fromRow<Job<D>>(row);
  }

  /** Runs the queued, failed and dead jobs that match the filters now. */
  rescheduleMany(filters: BulkFilters): Promise<BulkResult> {
    return changeJobs(this.transport, "reschedule", filters);
  }

  /** Changes a queued job. If a definition is given, its schema checks the new payload. */
  async update<D extends JobDefinition = JobDefinition>(
    id: string,
    changes: JobChanges<D>,
    reference: JobReference<D>,
  ): Promise<Job<D>> {
    const { payload, priority, tags, runAt } = knownOptions(changes, "update", "changes");
    checkReference(id, reference);
    if (priority !== undefined) checkPriority(priority, "priority");
    if (tags !== undefined) checkTags(tags, "tags");
    if (runAt !== undefined) checkDate(runAt, "runAt");
    if (payload !== undefined) await checkPayload(reference.job?.input, payload, "payload").checked;
    const row = await this.#ofJob<object>("jobforge_update_job", id, reference, {
      p_changes: toKeys({ payload, priority, tags, runAt }),
    });
    return fromRow<Job<D>>(row);
  }

  async #ofJob<T>(name: string, id: string, reference: OfTenant, more: CallArguments = {}): Promise<T> {
    checkReference(id, reference);
    return await this.transport.call<T>(name, { p_job_id: id, p_tenant_id: reference.tenantId, ...more });
  }
}

export function checkReference(id: string, reference: OfTenant): void {
  checkUuid(id, "id", "Pass the id of a job, which is `id` of what enqueue() returns.");
  checkTenantOf(reference);
}

/** The definition types the result, so it must be the definition of the job. */
function checkedJob<D extends JobDefinition>(job: Job<D>, definition: D | undefined): Job<D> {
  if (definition !== undefined && job.type !== definition.type)
    throw new InvalidArgumentError(`Job ${job.id} is of type ${job.type}, not ${definition.type}`, {
      field: "job",
    });
  return job;
}
