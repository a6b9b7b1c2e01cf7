/** The model of calls that steer jobs: cancel, reschedule and update, for one job or by filter. */
import { capped, isDedupeHeld, liveWith } from "./enqueue.ts";
import { endQueued } from "./runs.ts";
import { isOverdue, type Job, type Model, type Payload, Refusal, type Status, Waits } from "./state.ts";

/** The caller, for the audit log. */
export type Actor = string;

/** Returns the tenant's job, live or finished, unless it is deleted. */
export function find(model: Model, tenant: string, name: string): Job | undefined {
  const job = model.jobs.get(name);
  return job !== undefined && job.tenant === tenant && !job.forgotten ? job : undefined;
}

/** Cancels a job: a queued job at once, a running job when its run ends. */
export function cancel(model: Model, actor: Actor, tenant: string, name: string): Job {
  const job = find(model, tenant, name);
  if (job?.status === "queued") {
    if (model.isHeld("jobs", name)) throw new Waits();
    model.note("JOB_CANCELED", tenant, actor, name);
    return endQueued(model, job, "canceled");
  }
  if (job?.status !== "running") throw new Refusal("JF005");
  if (model.isHeld("requests", name)) throw new Waits();
  if (model.requests.get(name) === undefined) {
    model.requests.set(name, true);
    model.note("JOB_CANCEL_REQUESTED", tenant, actor, name);
  }
  return job;
}

export interface Rescheduling {
  readonly runAt: number | null;
  readonly maxAttempts: number | null;
}

/** Moves a job to another time. A failed or dead job is queued again with a new budget of attempts. */
export function reschedule(model: Model, actor: Actor, tenant: string, name: string, how: Rescheduling): Job {
  const job = find(model, tenant, name);
  if (job === undefined || !["queued", "failed", "dead"].includes(job.status)) throw new Refusal("JF006");
  if (model.isHeld("jobs", name)) throw new Waits();
  const moved = job.status === "queued" ? postpone(model, job, how) : revive(model, job, how);
  if (moved === undefined) throw new Refusal("JF006");
  model.note("JOB_RESCHEDULED", tenant, actor, name);
  return moved;
}

function postpone(model: Model, job: Job, how: Rescheduling): Job {
  const maxAttempts = how.maxAttempts ?? job.maxAttempts;
  if (job.attempts - job.uncounted >= maxAttempts) throw new Refusal("JF002");
  return model.change(job, {
    runAt: how.runAt ?? model.now,
    expiresAt: keptExpiry(model, job, how),
    maxAttempts,
    budget: how.maxAttempts ?? job.budget,
    updatedAt: model.now,
  });
}

/** A job that would have expired by the time at which it is to run never expires. */
function keptExpiry(model: Model, { expiresAt }: Job, { runAt }: Rescheduling): number | null {
  return expiresAt !== null && expiresAt > Math.max(runAt ?? model.now, model.now) ? expiresAt : null;
}

/** Returns the job queued again, or undefined if its retention has ended or a live job has its dedupe key. */
function revive(model: Model, job: Job, how: Rescheduling): Job | undefined {
  if (isOverdue(job, model.now)) return undefined;
  if (isDedupeHeld(model, job.tenant, job.type, job.dedupeKey)) throw new Waits();
  if (liveWith(model, job.tenant, job.type, job.dedupeKey) !== undefined) return undefined;
  const budget = how.maxAttempts ?? job.budget;
  const runAt = how.runAt ?? model.now;
  return model.change(job, {
    status: "queued",
    reason: null,
    failures: 0,
    losses: 0,
    budget,
    maxAttempts: job.attempts - job.uncounted + budget,
    runAt,
    expiresAt: keptExpiry(model, job, how),
    finishedAt: null,
    outcome: null,
    endedByRun: false,
    updatedAt: model.now,
  });
}

/** The changes of an update. An undefined field does not change. */
export interface Changes {
  readonly payload?: Payload;
  readonly priority?: number;
  readonly tags?: readonly string[];
  /** Null means now. */
  readonly runAt?: number | null;
}

/** Changes a queued job. */
export function update(model: Model, actor: Actor, tenant: string, name: string, changes: Changes): Job {
  const job = find(model, tenant, name);
  if (job?.status !== "queued") throw new Refusal("JF006");
  if (model.isHeld("jobs", name)) throw new Waits();
  const runAt = changes.runAt === undefined ? job.runAt : (changes.runAt ?? model.now);
  // An update must not allow what an enqueue refuses.
  if (job.expiresAt !== null && job.expiresAt <= Math.max(runAt, model.now)) throw new Refusal("JF002");
  model.note("JOB_UPDATED", tenant, actor, name);
  return model.change(job, {
    payload: changes.payload ?? job.payload,
    priority:
      changes.priority === undefined
        ? job.priority
        : capped(model, { type: job.type, priority: changes.priority }),
    tags: changes.tags ?? job.tags,
    runAt,
    updatedAt: model.now,
  });
}

/** Selects jobs of a tenant. Null selects any value. */
export interface Filter {
  readonly statuses: readonly Status[] | null;
  readonly types: readonly string[] | null;
  readonly tags: readonly string[] | null;
  readonly subject: string | null;
  readonly errorContains: string | null;
}

/** Returns the jobs of a tenant that a filter selects, without a defined order. */
export function matching(model: Model, tenant: string, filter: Filter): Job[] {
  const { statuses, types, tags, subject, errorContains } = filter;
  return model
    .known()
    .filter(
      (job) =>
        job.tenant === tenant &&
        (statuses === null || statuses.includes(job.status)) &&
        (types === null || types.includes(job.type)) &&
        (tags === null || tags.every((tag) => job.tags.includes(tag))) &&
        (subject === null || job.subject === subject) &&
        (errorContains === null || (job.fault?.message ?? "").includes(errorContains)),
    );
}

export interface BulkResult {
  readonly matched: number;
  readonly changed: number;
}

/** Cancels the jobs that the caller has found: queued jobs at once, running jobs when their run ends. Never waits. */
export function cancelAll(model: Model, actor: Actor, tenant: string, jobs: readonly Job[]): BulkResult {
  const changed = jobs.filter((job) => {
    if (job.status === "running") {
      const isAsked = model.requests.get(job.name) !== undefined || model.isHeld("requests", job.name);
      if (!isAsked) model.requests.set(job.name, true);
      return !isAsked;
    }
    const isFree = !model.isHeld("jobs", job.name);
    if (isFree) endQueued(model, job, "canceled");
    return isFree;
  });
  model.note("JOBS_CANCELED", tenant, actor, tenant);
  return { matched: jobs.length, changed: changed.length };
}

/** Moves the jobs that the caller has found to now, the oldest first. Finished jobs get a new budget of attempts. */
export function rescheduleAll(model: Model, actor: Actor, tenant: string, jobs: readonly Job[]): BulkResult {
  const now: Rescheduling = { runAt: null, maxAttempts: null };
  const changed = [...jobs].reverse().filter((job) => {
    if (model.isHeld("jobs", job.name)) return false;
    return (job.status === "queued" ? postpone(model, job, now) : revive(model, job, now)) !== undefined;
  });
  model.note("JOBS_RESCHEDULED", tenant, actor, tenant);
  return { matched: jobs.length, changed: changed.length };
}
