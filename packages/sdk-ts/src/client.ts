/** The calls of applications, over any transport. The calls of operators are in groups, such as `gates`. */
import { requireObject } from "./arguments/values.ts";
import { Artifacts } from "./artifacts/artifacts.ts";
import type { ArtifactStore } from "./artifacts/store.ts";
import { isStoredValue } from "./artifacts/stored-value.ts";
import { ClientJobs, checkReference } from "./client-jobs.ts";
import type { EnqueueOptions, JobDefinition, JobInput, JobOutput } from "./define/definition.ts";
import type { ScheduleDefinition } from "./define/schedule.ts";
import { enqueuePrepared, type NewJob, prepareJobs } from "./enqueue/enqueue-many.ts";
import { enqueueOne } from "./enqueue/enqueue-one.ts";
import { type BulkCounts, enqueueStream, type StreamOptions } from "./enqueue/enqueue-stream.ts";
import type { Gatherer } from "./enqueue/gather.ts";
import { offloadAll } from "./enqueue/offload.ts";
import { type PreparedJob, prepareJob } from "./enqueue/prepare.ts";
import { traced } from "./enqueue/telemetry.ts";
import type { Waker } from "./enqueue/wake.ts";
import { DatabaseError } from "./errors.ts";
import { TransactionSchedules } from "./groups/schedules.ts";
import { EnqueuedJob, JobHandle } from "./jobs/handle.ts";
import type { Job } from "./jobs/job.ts";
import type { JobReference } from "./jobs/steer.ts";
import { type DoneSignals, type WaitOptions, waitForResult } from "./jobs/wait.ts";
import { knownOptions } from "./option-names.ts";
import { fromRow } from "./rows.ts";
import type { PolicySync } from "./sync/policies.ts";
import type { ScheduleSync } from "./sync/schedules.ts";
import { type SyncOptions, syncDefinitions } from "./sync/sync.ts";
import type { Transport } from "./transport/transport.ts";
import type { StartOptions, WorkflowDefinition, WorkflowInput } from "./workflows/definition.ts";
import type { StartedWorkflow } from "./workflows/handle.ts";
import type { SentSignal, SignalSendOptions } from "./workflows/workflow.ts";

export interface ClientParts {
  readonly signals: DoneSignals;
  /** Absent in a transaction: its commit sends the notification. */
  readonly waker?: Waker | undefined;
  /** Absent if each enqueue is a statement of its own, as in a transaction. */
  readonly gatherer?: Gatherer | undefined;
  readonly artifacts?: ArtifactStore | undefined;
  /** The client that handles use, because this one ends with its transaction. */
  readonly root?: JobForgeClient | undefined;
}

export class JobForgeClient extends ClientJobs {
  /** Large contents outside the database, such as reports. */
  readonly artifacts: Artifacts;
  readonly #signals: DoneSignals;
  readonly #waker: Waker | undefined;
  readonly #gatherer: Gatherer | undefined;
  readonly #root: JobForgeClient | undefined;

  constructor(transport: Transport, parts: ClientParts) {
    super(transport, parts.signals, parts.root);
    const outside = transport.isTransaction ? parts.root?.transport : undefined;
    this.artifacts = new Artifacts(outside ?? transport, parts.artifacts);
    this.#signals = parts.signals;
    this.#waker = parts.waker;
    this.#gatherer = parts.gatherer;
    this.#root = parts.root;
  }

  /**
   * Enqueues one job and returns a handle with its outcome: `created`, `existing` (another job has the key and is
   * returned unchanged) or `replaced` (that job was changed). The definition's schema checks the input first. Calls
   * that are made at the same time are sent together, and each has its own outcome or error; see `gather` in the
   * options of JobForge. In a transaction, the call is sent by itself and before this method returns, unless the schema
   * is asynchronous or `offload` is true.
   */
  async enqueue<D extends JobDefinition>(
    job: D,
    input: JobInput<D>,
    options: EnqueueOptions,
  ): Promise<EnqueuedJob<D>> {
    requireObject(
      options,
      "options",
      'Pass at least { tenantId }, such as { tenantId: tenantId("org_123") }.',
    );
    const ready = prepareJob(job, input, traced(options));
    // No await in the usual case: in a transaction, the call must be sent before the caller can end it.
    const prepared = ready instanceof Promise ? await ready : ready;
    if (prepared.offload) return await this.#enqueueOffloaded(job, prepared);
    const row = await (this.#gatherer?.enqueue(prepared) ??
      enqueueOne(this.transport, this.#waker, prepared));
    const { outcome, ...columns } = row;
    return new EnqueuedJob<D>(this.#root ?? this, job, {
      id: row.id,
      tenantId: prepared.tenantId,
      outcome,
      job: row.status === null ? undefined : fromRow<Job<D>>(columns),
    });
  }

  /** The call for many jobs binds a stored payload to its job. */
  async #enqueueOffloaded<D extends JobDefinition>(job: D, prepared: PreparedJob): Promise<EnqueuedJob<D>> {
    const [outcome] = await enqueuePrepared(
      this.transport,
      await offloadAll(this.artifacts, [prepared]),
      false,
    );
    if (outcome?.id === undefined || outcome.id === null)
      throw new DatabaseError("The database has not said what became of the job");
    return new EnqueuedJob<D>(this.#root ?? this, job, { ...outcome, tenantId: prepared.tenantId });
  }

  /**
   * Enqueues any number of jobs, of one or several definitions and tenants. `shared` has the options of jobs that do
   * not set their own. Returns a handle with its outcome for each job, in order. All jobs are checked before the first
   * is sent, and the error names the job, such as `jobs[3].payload`. Over Postgres, all jobs are enqueued or none. Over
   * HTTP, more than 5,000 jobs or 7 MiB are several commits, so give the jobs idempotency keys to be able to repeat the
   * call.
   */
  async enqueueMany<const Ds extends readonly JobDefinition[]>(
    jobs: { readonly [K in keyof Ds]: NewJob<Ds[K]> },
    shared: Partial<EnqueueOptions> = {},
  ): Promise<{ -readonly [K in keyof Ds]: EnqueuedJob<Ds[K]> }> {
    const handles = await this.#enqueueAll(jobs, shared, false);
    return handles as { -readonly [K in keyof Ds]: EnqueuedJob<Ds[K]> };
  }

  /**
   * Enqueues as many of the jobs as the quotas of their tenants allow, in order, and returns undefined for a rejected
   * job. Otherwise it is like `enqueueMany`, which enqueues all jobs or none.
   */
  async enqueueFitting<const Ds extends readonly JobDefinition[]>(
    jobs: { readonly [K in keyof Ds]: NewJob<Ds[K]> },
    shared: Partial<EnqueueOptions> = {},
  ): Promise<{ -readonly [K in keyof Ds]: EnqueuedJob<Ds[K]> | undefined }> {
    const handles = await this.#enqueueAll(jobs, shared, true);
    return handles as { -readonly [K in keyof Ds]: EnqueuedJob<Ds[K]> | undefined };
  }

  /**
   * Enqueues any number of jobs of an iterable, such as the rows of a large file, with little memory: jobs are read,
   * checked and sent in parts of up to 5,000 jobs, two at a time. Each part is a commit of its own. At an error it
   * stops reading, waits for the part that is under way and rejects. The parts before stay enqueued, so give the jobs
   * idempotency keys to be able to repeat the call. Returns how many jobs had each outcome. `onProgress` gets the same
   * numbers after each commit.
   */
  async enqueueStream(
    jobs: Iterable<NewJob> | AsyncIterable<NewJob>,
    options: StreamOptions = {},
  ): Promise<BulkCounts> {
    requireObject(options, "options", "Pass options such as { tenantId }.");
    return await enqueueStream(this.transport, this.artifacts, jobs, traced(options));
  }

  async #enqueueAll(
    jobs: readonly NewJob[],
    shared: Partial<EnqueueOptions>,
    partial: boolean,
  ): Promise<(EnqueuedJob | undefined)[]> {
    const ready = prepareJobs(
      jobs,
      traced(requireObject(shared, "shared", "Pass options such as { tenantId }.")),
    );
    const checked = ready instanceof Promise ? await ready : ready;
    const prepared = checked.some(({ offload }) => offload)
      ? await offloadAll(this.artifacts, checked)
      : checked;
    const outcomes = await enqueuePrepared(this.transport, prepared, partial);
    return outcomes.map((each, index) => {
      if (each.outcome === "rejected") return undefined;
      const tenantId = prepared[index]?.tenantId ?? "";
      return new EnqueuedJob(this.#root ?? this, jobs[index]?.job, { ...each, tenantId });
    });
  }

  /** Starts a workflow, and returns a handle with its outcome. See `workflows.start`. */
  start<W extends WorkflowDefinition>(
    workflow: W,
    input: WorkflowInput<W>,
    options: StartOptions,
  ): Promise<StartedWorkflow<W>> {
    return this.workflows.start(workflow, input, options);
  }

  /** Sends a signal to a workflow. See `workflows.signal`. */
  signal(id: string, name: string, payload: unknown, options: SignalSendOptions): Promise<SentSignal> {
    return this.workflows.signal(id, name, payload, options);
  }

  /** A handle for a known job id. It makes no call. */
  handle<D extends JobDefinition = JobDefinition>(id: string, reference: JobReference<D>): JobHandle<D> {
    checkReference(id, reference);
    return new JobHandle<D>(this.#root ?? this, reference.job, id, reference.tenantId);
  }

  /**
   * The job as it is now; undefined if the tenant has no job with this id. With a definition, a payload that was
   * offloaded is read from the artifact store.
   */
  override async get<D extends JobDefinition = JobDefinition>(
    id: string,
    reference: JobReference<D>,
  ): Promise<Job<D> | undefined> {
    const job = await super.get<D>(id, reference);
    if (job === undefined || reference.job === undefined || !isStoredValue(job.payload)) return job;
    return { ...job, payload: (await this.artifacts.resolve(job.payload, reference)) as typeof job.payload };
  }

  /** Waits until a job has finished and returns its output. See `JobHandle.result`. */
  async result<D extends JobDefinition = JobDefinition>(
    id: string,
    options: WaitOptions & JobReference<D>,
  ): Promise<JobOutput<D>> {
    checkReference(id, options);
    knownOptions(options, "wait");
    // Not in the transaction: no worker sees the job before the commit.
    const { transport } = this.#root ?? this;
    return await waitForResult<D>(transport, this.#signals, this.artifacts, { ...options, id });
  }

  /**
   * Brings the database in line with definitions. For jobs it writes the policies: retries, timeout, lease, audit
   * action, retention. With `app` it also creates and changes the declared schedules, and disables those that the
   * application declared before and no longer declares. It writes only differences and returns them, policies first.
   * Settings that operators have set by hand stay until the definition itself changes, and an older `appVersion`
   * changes nothing, unless `force` is true. Workers whose role may do so sync the policies of their handlers at start.
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
    return await syncDefinitions(this.transport, definitions, knownOptions(options, "sync"));
  }
}

/** A client whose calls run in the transaction of the caller. */
export class TransactionClient extends JobForgeClient {
  override readonly schedules: TransactionSchedules;

  constructor(transport: Transport, parts: ClientParts) {
    super(transport, parts);
    this.schedules = new TransactionSchedules(transport);
  }
}
