/** The client: enqueues jobs to Redis, reads them and waits for them, with the names and types of `JobForge`. */
import {
  type CancelResult,
  type EnqueueOptions,
  InvalidArgumentError,
  type Job,
  type JobDefinition,
  type JobInput,
  type JobOutput,
  type NewJob,
  NotCancelableError,
  type PreparedJob,
  prepareJob,
  prepareJobs,
  traced,
  type WaitOptions,
} from "@jobforge/sdk-ts";
import { cancelJob } from "./client/cancel.ts";
import { type Added, addJobs } from "./client/enqueue.ts";
import { BullJobHandle, EnqueuedBullJob } from "./client/handle.ts";
import { readJob } from "./client/read.ts";
import { waitForResult } from "./client/wait.ts";
import { type Connection, openConnection } from "./connection.ts";
import { type NewBullJob, newBullJob } from "./document.ts";
import { requireLayout } from "./layout.ts";
import { type BullForgeOptions, forgeSettings } from "./options.ts";
import { Queues } from "./queues.ts";
import { requireSupported } from "./support.ts";
import { asConnectionError, withinTime } from "./worker/time.ts";

/** How long the first call waits for a Redis that does not respond. Later ones wait until it is available again. */
const contactTimeoutMs = 10_000;

/** Names a job: Redis finds it by its type and its tenant's group. */
export interface BullReference<D extends JobDefinition = JobDefinition> {
  readonly tenantId: string;
  readonly job: D;
}

/** Create one per process and close it at the end, or declare it with `await using`. */
export class BullForge implements AsyncDisposable {
  /** What workers and adapters of this package share. */
  readonly connection: Connection;
  readonly queues: Queues;
  /** How long a worker that falls silent keeps its jobs. */
  readonly leaseMs: number;
  readonly #ready: () => Promise<void>;
  readonly #byLease = new Map<number, Queues>();

  constructor(options: BullForgeOptions) {
    const { redis, layout, leaseMs } = forgeSettings(options);
    this.leaseMs = leaseMs;
    this.connection = openConnection(redis);
    this.queues = new Queues(this.connection, layout, { leaseMs });
    this.#byLease.set(leaseMs, this.queues);
    let checked: Promise<void> | undefined;
    this.#ready = () => {
      if (checked !== undefined) return checked;
      checked = withinTime(this.connection, contactTimeoutMs, requireLayout(this.connection.client, layout));
      // A Redis that could not be reached is asked again by the next call.
      checked.catch(() => {
        checked = undefined;
      });
      return checked;
    };
  }

  /** The same queues for workers and adapters whose claims last longer or shorter. */
  queuesWithLease(leaseMs: number = this.leaseMs): Queues {
    const known = this.#byLease.get(leaseMs);
    if (known !== undefined) return known;
    const made = new Queues(this.connection, this.queues.layout, { leaseMs });
    this.#byLease.set(leaseMs, made);
    return made;
  }

  /** Resolves when Redis has responded and its number of groups is that of this client. */
  async ready(): Promise<void> {
    await this.#ready();
  }

  /**
   * Enqueues one job and returns a handle with its outcome: `created`, `existing` (another job has the key) or
   * `replaced` (that job was changed). The definition's schema checks the input first.
   */
  async enqueue<D extends JobDefinition>(
    job: D,
    input: JobInput<D>,
    options: EnqueueOptions,
  ): Promise<EnqueuedBullJob<D>> {
    const prepared = await prepareJob(job, input, traced(options));
    requireSupported(job);
    const [added] = await this.add([newBullJob(prepared, job)]);
    if (added === undefined) throw new Error("Redis returned no result for the job");
    return new EnqueuedBullJob(this, job, { ...added, tenantId: prepared.tenantId });
  }

  /** Enqueues many jobs in few calls, which are no transaction. Returns handles in the order of the jobs. */
  async enqueueMany<const Ds extends readonly JobDefinition[]>(
    jobs: { readonly [K in keyof Ds]: NewJob<Ds[K]> },
    shared: Partial<EnqueueOptions> = {},
  ): Promise<{ -readonly [K in keyof Ds]: EnqueuedBullJob<Ds[K]> }> {
    const prepared: readonly PreparedJob[] = await prepareJobs(jobs, traced(shared));
    const made = prepared.map((each, place) => {
      const definition = definitionOf(jobs, place);
      requireSupported(definition);
      return newBullJob(each, definition);
    });
    const added = await this.add(made);
    const handles = added.map((each, place) => {
      const tenantId = prepared[place]?.tenantId ?? "";
      return new EnqueuedBullJob(this, definitionOf(jobs, place), { ...each, tenantId });
    });
    return handles as { -readonly [K in keyof Ds]: EnqueuedBullJob<Ds[K]> };
  }

  /** Adds jobs that are checked already. For workers and adapters of this package. */
  async add(jobs: readonly NewBullJob[]): Promise<readonly Added[]> {
    await this.#ready();
    try {
      return await addJobs(this.queues, jobs);
    } catch (error) {
      // Such as a Redis whose memory is full.
      throw asConnectionError(error);
    }
  }

  /** A handle for a known job id. It makes no call. */
  handle<D extends JobDefinition>(id: string, { job, tenantId }: BullReference<D>): BullJobHandle<D> {
    return new BullJobHandle(this, job, id, tenantId);
  }

  /** The job as it is now; undefined if the tenant has no such job, or if it was removed after it had ended. */
  async get<D extends JobDefinition>(id: string, reference: BullReference<D>): Promise<Job<D> | undefined> {
    return (await this.#read<D>(id, reference))?.job;
  }

  /** Waits until a job has finished and returns its output. See `BullJobHandle.result`. */
  async result<D extends JobDefinition>(
    id: string,
    options: WaitOptions & BullReference<D>,
  ): Promise<JobOutput<D>> {
    return await waitForResult<D>(() => this.#read<D>(id, options), id, options.job, options);
  }

  /** Cancels a job that has not finished. A NotCancelableError says that there is none. */
  async cancel(id: string, reference: BullReference): Promise<CancelResult> {
    const found = await this.#read(id, reference);
    if (found === undefined) throw new NotCancelableError();
    const status = await cancelJob(this.queues, reference.job.type, found.job);
    return { id, status, cancelRequested: status === "running" };
  }

  async #read<D extends JobDefinition>(
    id: string,
    reference: BullReference<D>,
  ): ReturnType<typeof readJob<D>> {
    const { job, tenantId } = requireReference(id, reference);
    await this.#ready();
    try {
      return await readJob<D>(this.queues, job.type, id, tenantId);
    } catch (error) {
      throw asConnectionError(error);
    }
  }

  /** Closes the connection. A client that was passed stays open. */
  async close(): Promise<void> {
    this.connection.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

function definitionOf(jobs: readonly NewJob[], place: number): JobDefinition {
  const job = jobs[place]?.job;
  if (job === undefined) throw new InvalidArgumentError(`jobs[${place}].job is required`, { field: "jobs" });
  return job;
}

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

function requireReference<D extends JobDefinition>(
  id: string,
  reference: BullReference<D>,
): BullReference<D> {
  if (typeof id !== "string" || !uuid.test(id))
    throw new InvalidArgumentError("Invalid argument: id must be a uuid", { field: "id" });
  if (reference?.job?.type === undefined || typeof reference.tenantId !== "string")
    throw new InvalidArgumentError("Invalid argument: pass { job, tenantId }", {
      field: "reference",
      hint: "Redis finds a job by its type and its tenant.",
    });
  return reference;
}
