/**
 * What a worker needs from the store of its jobs. The worker itself claims, runs, times out, aborts, reports and shuts
 * down in the same way on every store. `Kernel` implements this interface on Postgres; `@jobforge/bullmq` implements
 * it on Redis.
 */
import type { Artifacts, EnqueueOptions, JobDefinition, Listener, Transport } from "@jobforge/sdk-ts";
import type {
  ClaimedJob,
  ClaimRequest,
  HeartbeatResponse,
  RunEnd,
  RunKey,
  SettleResponse,
} from "./claiming/protocol.ts";
import type { TypePolicy } from "./handled-type.ts";
import type { DatabaseClock } from "./presence/clock.ts";
import type { WorkerLog } from "./reporting/log.ts";
import type { ConnectionBudget } from "./running/connection-budget.ts";

/** The end of a run, as an object and as JSON. */
export interface EndedRun {
  readonly end: RunEnd | undefined;
  readonly endJson: string;
}

export interface Backend {
  readonly workerId: string;
  /** The names of the handled types. */
  readonly types: readonly string[];
  /** The clock by which jobs become due. */
  readonly clock: DatabaseClock;

  /**
   * Ends runs, and claims jobs if a request is given. The response has one reply for each end, in the same order. It
   * rejects if the store cannot be reached; then the same ends are sent again.
   */
  settle(ends: readonly EndedRun[], request?: ClaimRequest, hint?: unknown): Promise<SettleResponse>;

  /** Keeps the leases of the runs in `info.held`, and says whether the worker is idle (`info.idle`). */
  heartbeat(info: Readonly<Record<string, unknown>>): Promise<HeartbeatResponse>;

  /** The jobs with these ids that were handed to this worker. Absent if the store hands none over. */
  receive?(ids: readonly string[]): Promise<readonly ClaimedJob[]>;

  /** Stores what a handler reports. Rejects with a JobNotHeldError if the lease is lost. */
  progress(run: RunKey, progress: unknown): Promise<{ readonly cancel_requested: boolean }>;

  /** Notifies the worker until the listener is closed. Absent if the worker must poll. */
  readonly listen?: ((events: WakeEvents) => Promise<Listener>) | undefined;

  /** Refuses a child that the store cannot keep as its definition and options ask. Absent if it can keep all. */
  checkChild?(job: JobDefinition, options: Partial<EnqueueOptions>): void;

  /** Reads and stores values that are too large for the store of the jobs. */
  readonly artifacts?: Artifacts | undefined;

  /** What only a database has. */
  readonly database?: DatabaseParts | undefined;

  /** Closes what the backend has opened for this worker. */
  close?(): Promise<void>;
}

export interface WakeEvents {
  /** A job of the type, or of any type (`*`), may be due: now, or at the given time. */
  onDue(type: string, time: string | undefined): void;
  /** The instance that heartbeats name. Undefined if the worker takes no jobs from enqueues. */
  readonly instance?: string | undefined;
  /** A job was handed to this instance of the worker. */
  onHanded?(id: string): void;
  /** A job of this worker may have been canceled. The next heartbeat says which. */
  onCancel(): void;
  /** Whether notifications arrive. Between `down` and `up` some may have been missed. */
  onState(state: "up" | "down", error?: Error): void;
}

export interface DatabaseParts {
  readonly transport: Transport;
  /** Limits how many connections handlers' transactions take. */
  readonly connections: ConnectionBudget;
  /** Settles one run inside a transaction. */
  settleIn(transaction: Transport, end: string): Promise<SettleResponse>;
  policy(type: string): Promise<TypePolicy>;
  /** Holds the concurrency key of a run until a time. Rejects with a JobNotHeldError if the lease is lost. */
  holdKey(run: RunKey, until: string, reason: string | undefined): Promise<void>;
}

/** What a backend knows of the worker that it serves. */
export interface BackendWorker {
  readonly id: string;
  readonly tenantId: string | undefined;
  readonly definitions: readonly JobDefinition[];
  readonly log: WorkerLog;
}

/** Makes the backend of a worker that starts. A worker that is started again gets another one. */
export type Connect = (worker: BackendWorker) => Backend;
