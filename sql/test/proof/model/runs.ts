/** The model of how runs end: the transitions of docs/concepts/state-machine.md, and the effects of an end. */
import { enqueueChildren, isValid } from "./enqueue.ts";
import {
  type Fault,
  type Job,
  type Model,
  type Outcome,
  type Policy,
  Refusal,
  type Run,
  type RunStatus,
  type Spec,
  type Status,
  Waits,
} from "./state.ts";

/** How a run ended, as a worker reports it or because its lease was lost. */
export interface End {
  readonly status: Exclude<RunStatus, "canceled">;
  /** The handler's error message, or null if it gave none. */
  readonly message: string | null;
  readonly retry: boolean;
  /** When to run again. Null means the backoff, or the time when the job was due. */
  readonly at: number | null;
  readonly counts: boolean;
  readonly cost: number | null;
  readonly outcome: Outcome | null;
  readonly children: readonly Spec[];
}

export const plainEnd: End = {
  status: "succeeded",
  message: null,
  retry: true,
  at: null,
  counts: true,
  cost: null,
  outcome: null,
  children: [],
};

/** A reference to a run. With a null attempt only the worker's name is checked. */
export interface RunReference {
  readonly name: string;
  readonly attempt: number | null;
}

const lossesOfCrasher = 3;
const day = 86_400_000;

/** Returns least(cap, base * factor^(n-1)). Without a cap, the maximum is a year. */
export function backoff(policy: Policy, failures: number): number {
  const cap = policy.cap_ms ?? 365 * day;
  return Math.round(Math.min(cap, policy.base_ms * policy.factor ** (failures - 1)));
}

/**
 * Returns whether the worker holds the job in that attempt. A worker bound to a tenant holds only that tenant's jobs.
 */
export function holds(
  job: Job | undefined,
  worker: string,
  attempt: number | null,
  bound: string | null,
): job is Job {
  return (
    job?.status === "running" &&
    job.worker === worker &&
    (attempt === null || job.attempts === attempt) &&
    (bound === null || job.tenant === bound)
  );
}

/** Returns the job of a fenced call by a worker. Throws JF003 if the fence refuses. */
export function heldJob(model: Model, worker: string, run: RunReference, bound: string | null): Job {
  const job = model.jobs.get(run.name);
  if (!holds(job, worker, run.attempt, bound)) throw new Refusal("JF003");
  if (model.isHeld("jobs", job.name)) throw new Waits();
  return job;
}

/** Ends the current run of a job. */
export function endRun(model: Model, job: Job, end: End): Job {
  const verdict = judge(model, job, end);
  const fault = faultAfter(model, job, end, verdict);
  const run = runOf(model, job, end, verdict, fault);
  const ended: Partial<Job> = {
    failures: job.failures + (end.status === "failed" || end.status === "lost" ? 1 : 0),
    cost: job.cost === null && end.cost === null ? null : (job.cost ?? 0) + (end.cost ?? 0),
    fault,
    worker: null,
    beatAt: null,
    runs: [...job.runs, run],
    updatedAt: model.now,
  };
  if (verdict === "queued") {
    const free = end.status === "released" || (end.status === "deferred" && !end.counts);
    return model.change(job, {
      ...ended,
      status: "queued",
      uncounted: job.uncounted + (free ? 1 : 0),
      losses: lossesAfter(job, end),
      runAt: nextRun(model, job, end),
    });
  }
  const reason = reasonOf(job, end, verdict);
  if (verdict === "dead") model.note("JOB_EXHAUSTED_RETRIES", job.tenant, run.worker, job.name);
  if (verdict === "failed") model.note("JOB_FAILED", job.tenant, run.worker, job.name);
  const action = model.policyOf(job.type).audit_action;
  if (verdict === "succeeded" && action !== null) model.note(action, job.tenant, run.worker, job.name);
  return finish(model, model.change(job, ended), verdict, reason, { endedByRun: true, outcome: end.outcome });
}

/** Finishes a queued job that was canceled or has expired. */
export function endQueued(model: Model, job: Job, reason: "canceled" | "expired"): Job {
  return finish(model, job, "canceled", reason, { endedByRun: false });
}

function finish(model: Model, job: Job, status: Status, reason: string, how: Partial<Job>): Job {
  const policy = model.policyOf(job.type);
  if (model.requests.get(job.name) !== undefined) model.requests.delete(job.name);
  const forgotten = !policy.keep_history && (status === "succeeded" || status === "canceled");
  if (forgotten) {
    for (const [id, key] of model.keys.entries()) {
      if (key.job === job.name) model.keys.set(id, { ...key, forgetAt: model.now + day });
    }
  }
  return model.change(job, {
    ...how,
    status,
    reason,
    forgotten,
    finishedAt: model.now,
    updatedAt: model.now,
    keepDays: shelf(policy.retention_days),
  });
}

/** Returns how long finished jobs are kept, rounded up to a shelf. */
function shelf(days: number | null): number {
  return [1, 3, 7, 14, 30, 90, 365, 3650].find((shelved) => shelved >= (days ?? 30)) ?? 3650;
}

function isExhausted(job: Job): boolean {
  return job.attempts - job.uncounted >= job.maxAttempts;
}

function isCrasher(job: Job, end: End): boolean {
  return end.status === "lost" && job.losses + 1 >= lossesOfCrasher;
}

function judge(model: Model, job: Job, end: End): Status {
  if (model.requests.get(job.name) !== undefined) return "canceled";
  switch (end.status) {
    case "succeeded":
      return "succeeded";
    case "released":
      return "queued";
    case "deferred":
      return end.counts && isExhausted(job) ? "dead" : "queued";
    case "failed":
      if (!end.retry) return "failed";
      return isExhausted(job) ? "dead" : "queued";
    case "lost":
      return isExhausted(job) || isCrasher(job, end) ? "dead" : "queued";
  }
}

function reasonOf(job: Job, end: End, verdict: Status): string {
  if (verdict === "dead") return isCrasher(job, end) ? "crashed" : "exhausted";
  if (verdict === "succeeded") return "done";
  return verdict === "failed" ? "refused" : "canceled";
}

function lossesAfter(job: Job, end: End): number {
  if (end.status === "lost") return job.losses + 1;
  return end.status === "released" ? job.losses : 0;
}

function nextRun(model: Model, job: Job, end: End): number {
  if (end.status === "failed") {
    return end.at ?? model.now + backoff(model.policyOf(job.type), job.failures + 1);
  }
  return end.status === "deferred" ? (end.at ?? model.now) : job.runAt;
}

/** Returns the error of the run itself. */
function faultOf(model: Model, end: End): Fault | null {
  const isFailure = end.status === "failed" || end.status === "lost";
  return isFailure || end.message !== null ? { message: end.message, at: model.now } : null;
}

/** Returns the error that the job shows afterwards: that of its last failed or lost run, and none after a success. */
function faultAfter(model: Model, job: Job, end: End, verdict: Status): Fault | null {
  if (end.status === "succeeded") return null;
  if (end.status === "failed" || end.status === "lost") return faultOf(model, end);
  if (verdict === "dead") return faultOf(model, end) ?? job.fault ?? { message: null, at: null };
  return job.fault;
}

function runOf(model: Model, job: Job, end: End, verdict: Status, fault: Fault | null): Run {
  const keepsName = end.status === "succeeded" || end.status === "lost";
  const isRequeued = end.status === "deferred" || end.status === "released";
  // A deferred or released run has its own error if it reported one. If it finishes the job, only the job's error
  // counts.
  const own = isRequeued && verdict !== "queued" ? (verdict === "dead" ? fault : null) : faultOf(model, end);
  return {
    attempt: job.attempts,
    status: verdict === "canceled" && !keepsName ? "canceled" : end.status,
    worker: job.worker ?? "",
    startedAt: job.startedAt ?? 0,
    finishedAt: model.now,
    fault: own,
  };
}

/** The result for one end of a settle. */
export interface Settled {
  readonly outcome: "ok" | "already" | "stale";
  readonly status: Status | null;
}

/** Ends the runs of a settle, each separately, then enqueues the children of those that succeeded. */
export function settle(
  model: Model,
  worker: string,
  bound: string | null,
  ends: readonly { readonly run: RunReference; readonly end: End }[],
): Settled[] {
  // A type without history deletes its job when the call that ends it is complete, not before.
  const before = new Map(ends.map(({ run }) => [run.name, model.jobs.get(run.name)]));
  const settled = new Set<string>();
  const families = new Map<string, Spec[]>();
  const results = ends.map(({ run, end }): Settled => {
    const job = model.jobs.get(run.name);
    const id = `${run.name} ${run.attempt}`;
    if (holds(job, worker, run.attempt, bound)) {
      if (model.isHeld("jobs", job.name)) throw new Waits();
      const after = endRun(model, job, keepable(model, end));
      settled.add(id);
      if (after.status === "succeeded") {
        families.set(job.tenant, [...(families.get(job.tenant) ?? []), ...end.children]);
      }
      return { outcome: "ok", status: after.status };
    }
    const known = settled.has(id) || wasEndedBy(before.get(run.name), worker, run.attempt, bound);
    return { outcome: known ? "already" : "stale", status: null };
  });
  for (const [tenant, children] of families) enqueueChildren(model, tenant, children);
  return results;
}

/** Turns a success whose children are invalid into a failure that is not retried. */
function keepable(model: Model, end: End): End {
  if (end.status !== "succeeded" || end.children.every((spec) => isValid(spec, model.now))) return end;
  return { ...end, status: "failed", retry: false, message: null, outcome: null, children: [] };
}

/** Returns whether this worker has already ended this run, and the job still exists. */
function wasEndedBy(
  job: Job | undefined,
  worker: string,
  attempt: number | null,
  bound: string | null,
): boolean {
  if (job === undefined || job.forgotten || (bound !== null && job.tenant !== bound)) return false;
  return job.runs.some((run) => run.attempt === attempt && run.worker === worker && run.status !== "lost");
}
