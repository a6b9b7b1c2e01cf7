/**
 * What the reference model believes: jobs, keys, policies, gates and workers, as the documentation describes them. Written
 * from DESIGN.md and docs/, not from the SQL. Times are milliseconds; a job's identity is its name, such as '#7'.
 */
import { Layer } from "./layers.ts";

export type Status = "queued" | "running" | "succeeded" | "failed" | "dead" | "canceled";
export type RunStatus = "succeeded" | "failed" | "deferred" | "released" | "lost" | "canceled";

/** An error as the model knows it: a null message stands for any text. */
export interface Fault {
  readonly message: string | null;
  readonly at: number | null;
}

/** One execution that is over. */
export interface Run {
  readonly attempt: number;
  readonly status: RunStatus;
  readonly worker: string;
  readonly startedAt: number;
  readonly finishedAt: number;
  readonly fault: Fault | null;
}

/** Payloads carry a number of their own, so that a job is recognised before its id is known. */
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
  /** Executions that failed or were lost since the job was enqueued or rescheduled: the n of the backoff. */
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
  /** Whether a run ended the job, not somebody who canceled it while it waited. */
  readonly endedByRun: boolean;
  readonly keepDays: number;
  /** It has gone: its type keeps no history, or its time of keeping is over. */
  readonly forgotten: boolean;
}

/** Where an idempotency key leads, and when it is forgotten if its job already is. */
export interface Key {
  readonly tenant: string;
  readonly type: string;
  readonly key: string;
  readonly job: string;
  readonly madeAt: number;
  /** Set when its job is forgotten at once; a key that was committed later counts from when it was made. */
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
  max_priority: null,
};

/** A gate that was closed: until then, or for good when that is null. One that was opened again was closed until then. */
export interface Gate {
  readonly until: number | null;
}

/** What is known of a worker that heartbeats as a worker. */
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

/** A child that waits for a key which somebody's open transaction holds. */
export interface Waiting {
  readonly tenant: string;
  readonly spec: Spec;
}

/** An open transaction: one layer of the model for itself and one for each savepoint. */
export interface Transaction {
  readonly levels: Model[];
}

/** What all layers of the model share: numbers that no rollback takes back, and what is open. */
export class Shared {
  readonly open = new Set<Transaction>();
  /** When a committed job last changed: what a hint of the last second may have overlooked. */
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
  /** Running jobs that somebody asked to cancel. */
  readonly requests: Layer<true>;
  readonly policies: Layer<Policy>;
  readonly gates: Layer<Gate>;
  /** By worker and scope, see `beatKey`. */
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

  /** A layer over this one, of the same session unless a transaction is named. */
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

  /** The job, which must exist. */
  job(name: string): Job {
    const job = this.jobs.get(name);
    if (job === undefined) throw new Error(`the model knows no job ${name}`);
    return job;
  }

  change(job: Job, changes: Partial<Job>): Job {
    const changed = { ...job, ...changes };
    this.jobs.set(job.name, changed);
    return changed;
  }

  /** Jobs that are still remembered. */
  known(): Job[] {
    return this.jobs.values().filter((job) => !job.forgotten);
  }

  policyOf(type: string): Policy {
    return this.policies.get(type) ?? this.policies.get("*") ?? defaultPolicy;
  }

  /** Writes a line of the audit log. */
  note(action: string, tenant: string, actor: string, entity: string): void {
    this.audit.set(String(this.shared.nextNumber()), `${action} ${entity} of ${tenant} by ${actor}`);
  }

  /** Other sessions' layers of open transactions. */
  others(): Model[] {
    return [...this.shared.open].flatMap((other) => (other === this.transaction ? [] : other.levels));
  }

  /** Whether another session's open transaction holds the row. */
  isHeld(map: Held, key: string): boolean {
    return this.others().some((other) => other[map].wrote(key));
  }
}

export function keyOf(tenant: string, type: string, key: string): string {
  return `${tenant} ${type} ${key}`;
}

/** A worker beats for every tenant (bound null) or for the one that its role is bound to. */
export function beatKey(worker: string, bound: string | null): string {
  return `${worker} ${bound ?? "all"}`;
}

/** The call is refused with this SQLSTATE, and changes nothing. */
export class Refusal extends Error {
  readonly code: string;
  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

/** The call would wait for somebody else's open transaction. */
export class Waits extends Error {}

export function isLive(job: Job): boolean {
  return job.status === "queued" || job.status === "running";
}

const day = 86_400_000;

/** Whether the job's time of keeping is over: it may be gone, wholly or in part, and does not come back. */
export function isOverdue(job: Job, now: number): boolean {
  return job.finishedAt !== null && job.finishedAt + job.keepDays * day <= now;
}
