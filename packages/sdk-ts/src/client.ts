/** Every call an application makes, over any transport. */
import {
  checkDate,
  checkMaxAttempts,
  checkPriority,
  checkRange,
  checkTags,
  checkTenant,
  checkUuid,
} from "./arguments.ts";
import type { EnqueueOptions, JobDefinition, JobInput, JobOutput } from "./definition.ts";
import { enqueuePrepared, type NewJob, prepareJobs } from "./enqueue-many.ts";
import { InvalidArgumentError } from "./errors.ts";
import { EnqueuedJob, JobHandle } from "./handle.ts";
import type {
  EnqueueOutcome,
  Job,
  JobAttempt,
  JobFilters,
  JobOf,
  JobReason,
  JobStatus,
  OfTenant,
} from "./job.ts";
import { filterKeys, type List, type ListOptions, listJobs, type SearchOptions, searchJobs } from "./list.ts";
import { Operations } from "./operations.ts";
import { jobArguments, payloadJson, prepareJob } from "./prepare.ts";
import { fromRow, toKeys } from "./rows.ts";
import { Schedules, TransactionSchedules } from "./schedules.ts";
import { checkValue } from "./schema.ts";
import { traced } from "./telemetry.ts";
import type { CallArguments, Transport } from "./transport.ts";
import { type DoneSignals, type WaitOptions, waitForResult } from "./wait.ts";
import type { Waker } from "./wake.ts";

/** Whose job, and of which definition, which types the answer. */
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

export interface CancelAnswer {
  readonly id: string;
  /** `canceled` at once, or `running` until the run ends. */
  readonly status: "canceled" | "running";
  readonly cancelRequested: boolean;
}

export interface RescheduleAnswer {
  readonly id: string;
  readonly status: JobStatus;
  readonly runAt: Date;
  readonly maxAttempts: number;
}

export interface BulkAnswer {
  readonly matched: number;
  /** Fewer than matched when others hold some of them; call again while `matched` reaches the limit. */
  readonly changed: number;
}

export type BulkFilters = JobFilters & OfTenant & { readonly limit?: number | undefined };

export interface ClientParts {
  readonly signals: DoneSignals;
  /** Absent in a transaction, whose commit notifies. */
  readonly waker?: Waker | undefined;
  /** Where handles go on when this client ends with its transaction. */
  readonly root?: JobForgeClient | undefined;
}

export class JobForgeClient extends Operations {
  /** Recurring work. */
  readonly schedules: Schedules;
  readonly #signals: DoneSignals;
  readonly #waker: Waker | undefined;
  readonly #root: JobForgeClient | undefined;

  constructor(transport: Transport, parts: ClientParts) {
    super(transport);
    this.schedules = new Schedules(transport);
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
    return outcomes.map((answer, index) => {
      if (answer.outcome === "rejected") return undefined;
      const tenantId = prepared[index]?.tenantId ?? "";
      return new EnqueuedJob(this.#root ?? this, jobs[index]?.job, { ...answer, tenantId });
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

  /** The jobs of all tenants, newest first. For operators. */
  search<D extends JobDefinition = JobDefinition>(options: SearchOptions<D> = {}): List<JobOf<D>> {
    if (options.tenantId !== undefined) checkTenant(options.tenantId);
    return searchJobs<D>(this.transport, options);
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
    return rows.map((row) => fromRow<JobAttempt>(row));
  }

  /** Why a job is not running now, or what became of it, the first reason first; undefined when there is no such job. */
  async explain(id: string, tenant: OfTenant): Promise<JobReason[] | undefined> {
    return (await this.#ofJob<JobReason[] | null>("jobforge_explain_job", id, tenant)) ?? undefined;
  }

  /** Cancels a queued job at once, and asks a running one to stop: it is canceled when its run ends. */
  async cancel(id: string, tenant: OfTenant): Promise<CancelAnswer> {
    return fromRow(await this.#ofJob<object>("jobforge_cancel_job", id, tenant));
  }

  /** Cancels the jobs that the filters mean, at least one filter given; at most `limit` (1000, up to 10,000) a call. */
  cancelMany(filters: BulkFilters): Promise<BulkAnswer> {
    return this.#bulk("jobforge_cancel_jobs", filters);
  }

  /** Runs a queued, failed or dead job now or at another time. One that had ended gets a fresh budget of executions. */
  async reschedule(id: string, options: RescheduleOptions & OfTenant): Promise<RescheduleAnswer> {
    const { runAt, maxAttempts } = options;
    if (runAt !== undefined) checkDate(runAt, "runAt");
    if (maxAttempts !== undefined) checkMaxAttempts(maxAttempts, "maxAttempts");
    const answer = await this.#ofJob<object>("jobforge_reschedule_job", id, options, {
      p_run_at: runAt,
      p_max_attempts: maxAttempts,
    });
    return fromRow(answer);
  }

  /** Runs the queued, failed or dead jobs that the filters mean now. */
  rescheduleMany(filters: BulkFilters): Promise<BulkAnswer> {
    return this.#bulk("jobforge_reschedule_jobs", filters);
  }

  /** Forgets ended jobs that the filters mean before their time, with results, attempts and keys. For operators. */
  purgeMany(filters: BulkFilters): Promise<BulkAnswer> {
    return this.#bulk("jobforge_purge_jobs", filters);
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

  async #ofJob<T>(name: string, id: string, reference: OfTenant, more: CallArguments = {}): Promise<T> {
    checkReference(id, reference);
    return await this.transport.call<T>(name, { p_job_id: id, p_tenant_id: reference.tenantId, ...more });
  }

  async #bulk(name: string, { tenantId, limit, ...filters }: BulkFilters): Promise<BulkAnswer> {
    checkTenant(tenantId);
    if (limit !== undefined) checkRange(limit, "limit", 1, 10_000);
    const args = { p_tenant_id: tenantId, p_filters: filterKeys(filters), p_limit: limit };
    return await this.transport.call<BulkAnswer>(name, args);
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
