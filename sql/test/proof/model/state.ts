/**
 * The state of the reference model: jobs, keys, policies, gates and workers, as the documentation describes them.
 * Written from DESIGN.md and docs/, not from the SQL. Times are milliseconds. A job is identified by its name, such as
 * '#7'.
 */
import { Layer } from "./layers.ts";

export type Status = "queued" | "running" | "succeeded" | "failed" | "dead" | "canceled";
export type RunStatus = "succeeded" | "failed" | "deferred" | "released" | "lost" | "canceled";

/** An error in the model. A null message stands for any text. */
export interface Fault {
  readonly message: string | null;
  readonly at: number | null;
}

/** A run that has ended. */
export interface Run {
  readonly attempt: number;
  readonly status: RunStatus;
  readonly worker: string;
  readonly startedAt: number;
  readonly finishedAt: number;
  readonly fault: Fault | null;
}

/** Every payload has a unique number, so that a job is recognized before its id is known. */
export interface Payload {
  readonly mark: number;
  readonly large: boolean;
}

export interface Outcome {
  readonly value: number | null;
  readonly reference: string | null;
}

export interface Job {
  readonly name: string;
  /** Order of insertion. */
  readonly seq: number;
  readonly tenant: string;
  readonly type: string;
  readonly payload: Payload;
  readonly status: Status;
  readonly reason: string | null;
  readonly priority: number;
  readonly attempts: number;
  readonly uncounted: number;
  /** Runs that failed or were lost since the job was enqueued or rescheduled: the n of the backoff. */
  readonly failures: number;
  /** Leases lost in a row. */
  readonly losses: number;
  readonly maxAttempts: number;
  readonly budget: number;
  readonly runAt: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly startedAt: number | null;
  readonly beatAt: number | null;
  readonly finishedAt: number | null;
  readonly expiresAt: number | null;
  readonly worker: string | null;
  readonly idempotencyKey: string | null;
  readonly dedupeKey: string | null;
  readonly subject: string | null;
  readonly tags: readonly string[];
  readonly progress: number | null;
  readonly fault: Fault | null;
  readonly cost: number | null;
  readonly outcome: Outcome | null;
  readonly runs: readonly Run[];
  /** Whether the end of a run finished the job, not a cancel or expiry while it was queued. */
  readonly endedByRun: boolean;
  readonly keepDays: number;
  /** Whether the job is deleted, because its type keeps no history or its retention has ended. */
  readonly forgotten: boolean;
}

/** The job of an idempotency key, and when the key is deleted if its job already is. */
export interface Key {
  readonly tenant: string;
  readonly type: string;
  readonly key: string;
  readonly job: string;
  readonly madeAt: number;
  /** Set when its job is deleted at once. For a key that was committed later, the time counts from `madeAt`. */
  readonly forgetAt: number | null;
}

export interface Policy {
  readonly base_ms: number;
  readonly cap_ms: number | null;
  readonly factor: number;
  readonly max_attempts: number;
  readonly timeout_ms: number | null;
  readonly lease_ms: number | null;
  readonly audit_action: string | null;
  readonly keep_history: boolean;
  readonly retention_days: number | null;
  readonly max_priority: number | null;
}

export const defaultPolicy: Policy = {
  base_ms: 1000,
  cap_ms: 3_600_000,
  factor: 2,
  max_attempts: 5,
  timeout_ms: null,
  lease_ms: null,
  audit_action: null,
  keep_history: true,
  retention_days: null,
  max_priority: 100,
};

/** A gate that pauses until this time, or without end if it is null. A resumed gate has the time of the resume. */
export interface Gate {
  readonly until: number | null;
}

/** The last heartbeat of a worker. */
export interface Beat {
  readonly instance: string;
  readonly seenAt: number;
}

/** A job to enqueue. */
export interface Spec {
  readonly type: string;
  readonly payload: Payload;
  readonly priority: number;
  readonly runAt: number | null;
  readonly maxAttempts: number | null;
  readonly idempotencyKey: string | null;
  readonly dedupeKey: string | null;
  readonly dedupeMode: "skip" | "replace" | "debounce";
  readonly tags: readonly string[];
  readonly subject: string | null;
  readonly expiresAt: number | null;
}

/** A child that waits for a key that an open transaction holds. */
export interface Waiting {
  readonly tenant: string;
  readonly spec: Spec;
}

/** An open transaction, with one layer of the model for itself and one for each savepoint. */
export interface Transaction {
  readonly levels: Model[];
}

/** State shared by all layers of the model: numbers that no rollback undoes, and the open transactions. */
export class Shared {
  readonly open = new Set<Transaction>();
  /** When a committed job last changed. A hint may miss changes of the last second. */
  readonly changedAt = new Map<string, number>();
  /** The committed jobs that changed since they were last compared. */
  readonly touched = new Set<string>();
  now: number;
  #numbers = 0;

  constructor(now: number) {
    this.now = now;
  }

  nextNumber(): number {
    this.#numbers += 1;
    return this.#numbers;
  }
}

type Held = "jobs" | "keys" | "requests";

/** The state as one session sees it. */
export class Model {
  readonly shared: Shared;
  readonly transaction: Transaction | undefined;
  readonly jobs: Layer<Job>;
  /** Idempotency keys, by `keyOf`. */
  readonly keys: Layer<Key>;
  /** Running jobs with a cancel request. */
  readonly requests: Layer<true>;
  readonly policies: Layer<Policy>;
  readonly gates: Layer<Gate>;
  /** By worker and tenant, see `beatKey`. */
  readonly workers: Layer<Beat>;
  readonly outbox: Layer<Waiting>;
  /** When a task of maintenance last ran. */
  readonly tasks: Layer<number>;
  /** Lines of the audit log. */
  readonly audit: Layer<string>;

  constructor(shared: Shared, below?: Model, transaction?: Transaction) {
    this.shared = shared;
    this.transaction = transaction;
    const onWrite = (name: string): void => {
      shared.changedAt.set(name, shared.now);
      shared.touched.add(name);
    };
    this.jobs = new Layer(below?.jobs, below === undefined ? onWrite : undefined);
    this.requests = new Layer(below?.requests, below === undefined ? onWrite : undefined);
    this.keys = new Layer(below?.keys);
    this.policies = new Layer(below?.policies);
    this.gates = new Layer(below?.gates);
    this.workers = new Layer(below?.workers);
    this.outbox = new Layer(below?.outbox);
    this.tasks = new Layer(below?.tasks);
    this.audit = new Layer(below?.audit);
  }

  /** Returns a layer above this one, of the same session unless a transaction is given. */
  above(transaction: Transaction | undefined = this.transaction): Model {
    return new Model(this.shared, this, transaction);
  }

  merge(): void {
    for (const layer of [
      this.jobs,
      this.requests,
      this.keys,
      this.policies,
      this.gates,
      this.workers,
      this.outbox,
      this.tasks,
      this.audit,
    ]) {
      layer.merge();
    }
  }

  get now(): number {
    return this.shared.now;
  }

  /** Returns the job, which must exist. */
  job(name: string): Job {
    const job = this.jobs.get(name);
    if (job === undefined) throw new Error(`the model has no job ${name}`);
    return job;
  }

  change(job: Job, changes: Partial<Job>): Job {
    const changed = { ...job, ...changes };
    this.jobs.set(job.name, changed);
    return changed;
  }

  /** Returns the jobs that are not deleted. */
  known(): Job[] {
    return this.jobs.values().filter((job) => !job.forgotten);
  }

  policyOf(type: string): Policy {
    return this.policies.get(type) ?? this.policies.get("*") ?? defaultPolicy;
  }

  /** Writes a line to the audit log. */
  note(action: string, tenant: string, actor: string, entity: string): void {
    this.audit.set(String(this.shared.nextNumber()), `${action} ${entity} of ${tenant} by ${actor}`);
  }

  /** Returns the layers of other sessions' open transactions. */
  others(): Model[] {
    return [...this.shared.open].flatMap((other) => (other === this.transaction ? [] : other.levels));
  }

  /** Returns whether another session's open transaction holds the row. */
  isHeld(map: Held, key: string): boolean {
    return this.others().some((other) => other[map].wrote(key));
  }
}

export function keyOf(tenant: string, type: string, key: string): string {
  return `${tenant} ${type} ${key}`;
}

/** Returns the key of a heartbeat, which is valid for all tenants (bound is null) or for the tenant of a bound role. */
export function beatKey(worker: string, bound: string | null): string {
  return `${worker} ${bound ?? "all"}`;
}

/** The call is refused with this SQLSTATE and changes nothing. */
export class Refusal extends Error {
  readonly code: string;
  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

/** The call would wait for another session's open transaction. */
export class Waits extends Error {}

export function isLive(job: Job): boolean {
  return job.status === "queued" || job.status === "running";
}

const day = 86_400_000;

/**
 * Returns whether the job's retention has ended: it may be deleted completely or in part, and cannot be rescheduled.
 */
export function isOverdue(job: Job, now: number): boolean {
  return job.finishedAt !== null && job.finishedAt + job.keepDays * day <= now;
}
