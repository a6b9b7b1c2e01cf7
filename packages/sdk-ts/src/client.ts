/** Every call an application makes, over any transport. Calls of operators are in groups, such as `gates`. */
import {
  checkDate,
  checkMaxAttempts,
  checkPriority,
  checkTags,
  checkTenant,
  checkUuid,
} from "./arguments.ts";
import type { EnqueueOptions, JobDefinition, JobInput, JobOutput } from "./define/definition.ts";
import type { ScheduleDefinition } from "./define/schedule.ts";
import { checkValue } from "./define/schema.ts";
import { enqueuePrepared, type NewJob, prepareJobs } from "./enqueue/enqueue-many.ts";
import { jobArguments, payloadJson, prepareJob } from "./enqueue/prepare.ts";
import { traced } from "./enqueue/telemetry.ts";
import type { Waker } from "./enqueue/wake.ts";
import { InvalidArgumentError } from "./errors.ts";
import { AuditLog } from "./groups/audit.ts";
import { Connectors } from "./groups/connectors.ts";
import { Gates } from "./groups/gates.ts";
import { Installation } from "./groups/installation.ts";
import { AllJobs } from "./groups/jobs.ts";
import { Limits } from "./groups/limits.ts";
import { Policies } from "./groups/policies.ts";
import { Schedules, TransactionSchedules } from "./groups/schedules.ts";
import { Tenants } from "./groups/tenants.ts";
import { JobTypes } from "./groups/types.ts";
import { UsageReports } from "./groups/usage.ts";
import { Workers } from "./groups/workers.ts";
import { type BulkFilters, type BulkResult, changeJobs } from "./jobs/bulk.ts";
import { EnqueuedJob, JobHandle } from "./jobs/handle.ts";
import type { Job, JobAttempt, JobOf, JobReason, OfTenant } from "./jobs/job.ts";
import { type List, type ListOptions, listJobs } from "./jobs/list.ts";
import { type DoneSignals, type WaitOptions, waitForResult } from "./jobs/wait.ts";
import { fromRow, fromRows, toKeys } from "./rows.ts";
import type { PolicySync } from "./sync/policies.ts";
import type { ScheduleSync } from "./sync/schedules.ts";
import { type SyncOptions, syncDefinitions } from "./sync/sync.ts";
import type { CallArguments, Transport } from "./transport/transport.ts";
import type { EnqueueOutcome, JobStatus } from "./words.ts";

/** The tenant, and optionally the definition that types the result. */
export interface JobReference<D extends JobDefinition = JobDefinition> extends OfTenant {
  readonly job?: D | undefined;
}

export interface RescheduleOptions {
  /** Default: now. */
  readonly runAt?: Date | undefined;
  /** For a queued job the new total; for one that had ended, how many more executions it gets. */
  readonly maxAttempts?: number | undefined;
}

/** What can be changed of a queued job; what is not named stays. */
export interface JobChanges<D extends JobDefinition = JobDefinition> {
  readonly payload?: JobInput<D> | undefined;
  readonly priority?: number | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly runAt?: Date | undefined;
}

export interface CancelResult {
  readonly id: string;
  /** `canceled` at once, or `running` until the run ends. */
  readonly status: "canceled" | "running";
  readonly cancelRequested: boolean;
}

export interface RescheduleResult {
  readonly id: string;
  readonly status: JobStatus;
  readonly runAt: Date;
  readonly maxAttempts: number;
}

export interface ClientParts {
  readonly signals: DoneSignals;
  /** Absent in a transaction, whose commit notifies. */
  readonly waker?: Waker | undefined;
  /** Where handles go on when this client ends with its transaction. */
  readonly root?: JobForgeClient | undefined;
}

export class JobForgeClient {
  /** The way to the kernel, for functions that have no method here. */
  readonly transport: Transport;
  /** Recurring work. */
  readonly schedules: Schedules;
  /** The jobs of all tenants. */
  readonly jobs: AllJobs;
  /** Pauses. */
  readonly gates: Gates;
  /** How many jobs run at once, and how many start in a time. */
  readonly limits: Limits;
  /** How the jobs of a type behave. */
  readonly policies: Policies;
  /** Quotas, weights and logins of tenants. */
  readonly tenants: Tenants;
  readonly workers: Workers;
  readonly types: JobTypes;
  /** What was used, and what is live now. */
  readonly usage: UsageReports;
  readonly audit: AuditLog;
  readonly connectors: Connectors;
  /** Health and maintenance. */
  readonly installation: Installation;
  readonly #signals: DoneSignals;
  readonly #waker: Waker | undefined;
  readonly #root: JobForgeClient | undefined;

  constructor(transport: Transport, parts: ClientParts) {
    this.transport = transport;
    this.schedules = new Schedules(transport);
    this.jobs = new AllJobs(transport);
    this.gates = new Gates(transport);
    this.limits = new Limits(transport);
    this.policies = new Policies(transport);
    this.tenants = new Tenants(transport);
    this.workers = new Workers(transport);
    this.types = new JobTypes(transport);
    this.usage = new UsageReports(transport);
    this.audit = new AuditLog(transport);
    this.connectors = new Connectors(transport);
    this.installation = new Installation(transport);
    this.#signals = parts.signals;
    this.#waker = parts.waker;
    this.#root = parts.root;
  }

  /**
   * Enqueues one job and answers a handle to it, with the outcome: created, existing (its key was taken by a job that now answers,
   * unchanged) or replaced. The input is checked by the definition's schema first.
   */
  async enqueue<D extends JobDefinition>(
    job: D,
    input: JobInput<D>,
    options: EnqueueOptions,
  ): Promise<EnqueuedJob<D>> {
    const prepared = await prepareJob(job, input, await traced(options));
    const follows = this.#waker !== undefined && !this.#waker.leads(job.type);
    const row = await this.transport.call<{ id: string; outcome: EnqueueOutcome; status: string | null }>(
      "jobforge_enqueue_job",
      { ...jobArguments(prepared), p_notify: follows ? false : undefined },
    );
    if (follows) this.#waker?.follow(job.type, options.runAt);
    const { outcome, ...columns } = row;
    return new EnqueuedJob<D>(this.#root ?? this, job, {
      id: row.id,
      tenantId: prepared.tenantId,
      outcome,
      job: row.status === null ? undefined : fromRow<Job<D>>(columns),
    });
  }

  /**
   * Enqueues any number of jobs, of one definition or several, of one tenant or several: `shared` holds for those that do not say otherwise.
   * Answers a handle with its outcome for each, in order. All are checked before the first is sent; the error names the job, such
   * as `jobs[3].payload`. Over Postgres it is all or none; over HTTP more than 5,000 jobs or 7 MiB are several commits, so give them
   * idempotency keys to be able to repeat the call.
   */
  async enqueueMany<const Ds extends readonly JobDefinition[]>(
    jobs: { readonly [K in keyof Ds]: NewJob<Ds[K]> },
    shared: Partial<EnqueueOptions> = {},
  ): Promise<{ -readonly [K in keyof Ds]: EnqueuedJob<Ds[K]> }> {
    const handles = await this.#enqueueAll(jobs, shared, false);
    return handles as { -readonly [K in keyof Ds]: EnqueuedJob<Ds[K]> };
  }

  /**
   * Enqueues as many of the jobs as their tenants' quotas have room for, the first ones first. Otherwise like `enqueueMany`, which enqueues all or
   * none; the answer for a job that was rejected is undefined.
   */
  async enqueueFitting<const Ds extends readonly JobDefinition[]>(
    jobs: { readonly [K in keyof Ds]: NewJob<Ds[K]> },
    shared: Partial<EnqueueOptions> = {},
  ): Promise<{ -readonly [K in keyof Ds]: EnqueuedJob<Ds[K]> | undefined }> {
    const handles = await this.#enqueueAll(jobs, shared, true);
    return handles as { -readonly [K in keyof Ds]: EnqueuedJob<Ds[K]> | undefined };
  }

  async #enqueueAll(
    jobs: readonly NewJob[],
    shared: Partial<EnqueueOptions>,
    partial: boolean,
  ): Promise<(EnqueuedJob | undefined)[]> {
    const prepared = await prepareJobs(jobs, await traced(shared));
    const outcomes = await enqueuePrepared(this.transport, prepared, partial);
    return outcomes.map((each, index) => {
      if (each.outcome === "rejected") return undefined;
      const tenantId = prepared[index]?.tenantId ?? "";
      return new EnqueuedJob(this.#root ?? this, jobs[index]?.job, { ...each, tenantId });
    });
  }

  /** A handle to a job whose id is known. */
  handle<D extends JobDefinition = JobDefinition>(id: string, reference: JobReference<D>): JobHandle<D> {
    checkReference(id, reference);
    return new JobHandle<D>(this.#root ?? this, reference.job, id, reference.tenantId);
  }

  /** The job as it is now; undefined when the tenant has none with this id. */
  async get<D extends JobDefinition = JobDefinition>(
    id: string,
    reference: JobReference<D>,
  ): Promise<Job<D> | undefined> {
    const [row] = await this.#ofJob<object[]>("jobforge_get_job", id, reference);
    if (row === undefined) return undefined;
    return checkedJob(fromRow<Job<D>>(row), reference.job);
  }

  /** A tenant's jobs, newest first: `for await (const job of forge.list({ tenantId }))`, or page by page. */
  list<D extends JobDefinition = JobDefinition>(options: ListOptions<D>): List<JobOf<D>> {
    checkTenant(options.tenantId);
    return listJobs<D>(this.transport, options);
  }

  /** Waits for a job's end and answers its output. See `JobHandle.result`. */
  async result<D extends JobDefinition = JobDefinition>(
    id: string,
    options: WaitOptions & JobReference<D>,
  ): Promise<JobOutput<D>> {
    checkReference(id, options);
    // Not in a transaction: nobody else sees the job before its commit.
    const { transport } = this.#root ?? this;
    return await waitForResult<D>(transport, this.#signals, { ...options, id });
  }

  /** The executions of a job, the first one first. */
  async attempts(id: string, tenant: OfTenant): Promise<JobAttempt[]> {
    const rows = await this.#ofJob<object[]>("jobforge_list_attempts", id, tenant);
    return fromRows<JobAttempt>(rows);
  }

  /** Why a job is not running now, or what became of it, the first reason first; undefined when there is no such job. */
  async explain(id: string, tenant: OfTenant): Promise<JobReason[] | undefined> {
    return (await this.#ofJob<JobReason[] | null>("jobforge_explain_job", id, tenant)) ?? undefined;
  }

  /** Cancels a queued job at once, and asks a running one to stop: it is canceled when its run ends. */
  async cancel(id: string, tenant: OfTenant): Promise<CancelResult> {
    return fromRow(await this.#ofJob<object>("jobforge_cancel_job", id, tenant));
  }

  /** Cancels the jobs that the filters mean, at least one filter given; at most `limit` (1000, up to 10,000) a call. */
  cancelMany(filters: BulkFilters): Promise<BulkResult> {
    return changeJobs(this.transport, "cancel", filters);
  }

  /** Runs a queued, failed or dead job now or at another time. One that had ended gets a fresh budget of executions. */
  async reschedule(id: string, options: RescheduleOptions & OfTenant): Promise<RescheduleResult> {
    const { runAt, maxAttempts } = options;
    if (runAt !== undefined) checkDate(runAt, "runAt");
    if (maxAttempts !== undefined) checkMaxAttempts(maxAttempts, "maxAttempts");
    const row = await this.#ofJob<object>("jobforge_reschedule_job", id, options, {
      p_run_at: runAt,
      p_max_attempts: maxAttempts,
    });
    return fromRow(row);
  }

  /** Runs the queued, failed or dead jobs that the filters mean now. */
  rescheduleMany(filters: BulkFilters): Promise<BulkResult> {
    return changeJobs(this.transport, "reschedule", filters);
  }

  /** Changes a queued job. With a definition the new payload is checked by its schema. */
  async update<D extends JobDefinition = JobDefinition>(
    id: string,
    changes: JobChanges<D>,
    reference: JobReference<D>,
  ): Promise<Job<D>> {
    const { payload, priority, tags, runAt } = changes;
    if (priority !== undefined) checkPriority(priority, "priority");
    if (tags !== undefined) checkTags(tags, "tags");
    if (runAt !== undefined) checkDate(runAt, "runAt");
    if (payload !== undefined) {
      await checkValue(reference.job?.input, payload, "payload");
      payloadJson(payload, "payload");
    }
    const row = await this.#ofJob<object>("jobforge_update_job", id, reference, {
      p_changes: toKeys({ payload, priority, tags, runAt }),
    });
    return fromRow<Job<D>>(row);
  }

  /**
   * Brings the database in line with definitions: the policies of jobs (retries, timeout, lease, audit action, retention), and, for an
   * `app`, its schedules: makes and changes what is declared, and disables what it declared before and no longer does. Writes only what
   * differs, and answers it, schedules after policies. What is not mentioned stays as operators have set it. Call it whenever a process starts.
   */
  sync(
    jobs: readonly JobDefinition[],
    options?: SyncOptions & { readonly app?: undefined },
  ): Promise<PolicySync[]>;
  sync(
    definitions: readonly (JobDefinition | ScheduleDefinition)[],
    options: SyncOptions & { readonly app: string },
  ): Promise<(PolicySync | ScheduleSync)[]>;
  async sync(
    definitions: readonly (JobDefinition | ScheduleDefinition)[],
    options: SyncOptions = {},
  ): Promise<(PolicySync | ScheduleSync)[]> {
    return await syncDefinitions(this.transport, this.policies, definitions, options);
  }

  async #ofJob<T>(name: string, id: string, reference: OfTenant, more: CallArguments = {}): Promise<T> {
    checkReference(id, reference);
    return await this.transport.call<T>(name, { p_job_id: id, p_tenant_id: reference.tenantId, ...more });
  }
}

/** The client of a transaction. */
export class TransactionClient extends JobForgeClient {
  override readonly schedules: TransactionSchedules;

  constructor(transport: Transport, parts: ClientParts) {
    super(transport, parts);
    this.schedules = new TransactionSchedules(transport);
  }
}

function checkReference(id: string, { tenantId }: OfTenant): void {
  checkUuid(id, "id");
  checkTenant(tenantId);
}

/** A definition types the answer, so it must be the job's own. */
function checkedJob<D extends JobDefinition>(job: Job<D>, definition: D | undefined): Job<D> {
  if (definition !== undefined && job.type !== definition.type)
    throw new InvalidArgumentError(`Job ${job.id} is of type ${job.type}, not ${definition.type}`, {
      field: "job",
    });
  return job;
}
