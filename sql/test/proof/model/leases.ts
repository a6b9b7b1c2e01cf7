/** The model of leases and maintenance: heartbeats, lost leases, expiry and late cancels. */
import { emptyOutbox } from "./enqueue.ts";
import { type End, endQueued, endRun, holds, plainEnd, type RunReference } from "./runs.ts";
import { type Beat, beatKey, type Job, type Model } from "./state.ts";

const second = 1000;
const minute = 60 * second;
const day = 24 * 60 * minute;

/** How often claims and heartbeats maintain jobs. A maintenance call always does. */
const maintainEvery = 5 * second;
/** How often heartbeats delete old keys and workers. */
const forgetEvery = 30 * second;
/** A run that a worker does not report as held is lost if it was claimed longer ago than this. */
const unnamedFor = 10 * second;

const lost: End = { ...plainEnd, status: "lost" };

/** Returns the last heartbeat of the worker that holds the job, if it is valid for the job's tenant. */
function beatOf(model: Model, job: Job): Beat | undefined {
  const beats = [null, job.tenant].flatMap(
    (bound) => model.workers.get(beatKey(job.worker ?? "", bound)) ?? [],
  );
  return beats.sort((a, b) => b.seenAt - a.seenAt)[0];
}

/** Returns whether the lease of a running job has expired. */
export function isLost(model: Model, job: Job): boolean {
  const policy = model.policyOf(job.type);
  const startedAt = job.startedAt ?? 0;
  const beat = beatOf(model, job);
  const lastBeat = beat === undefined ? (job.beatAt ?? startedAt) : Math.max(beat.seenAt, startedAt);
  const lease = policy.lease_ms ?? (beat === undefined ? 5 * minute : minute);
  const isWedged = policy.timeout_ms !== null && startedAt + policy.timeout_ms + minute < model.now;
  return lastBeat + lease < model.now || isWedged;
}

function running(model: Model): Job[] {
  return model.jobs.values().filter((job) => job.status === "running" && !model.isHeld("jobs", job.name));
}

function waiting(model: Model): Job[] {
  return model.jobs.values().filter((job) => job.status === "queued" && !model.isHeld("jobs", job.name));
}

/** Takes back lost leases, ends expired jobs, applies late cancels and enqueues waiting children. True if any was. */
export function maintainJobs(model: Model, isForced: boolean): boolean {
  if (!isForced && !isTime(model, "jobs", maintainEvery)) return false;
  model.tasks.set("jobs", model.now);
  const canceled = applyLateCancels(model);
  const overdue = running(model).filter((job) => isLost(model, job));
  for (const job of overdue) endRun(model, job, lost);
  const expired = waiting(model).filter((job) => job.expiresAt !== null && job.expiresAt <= model.now);
  for (const job of expired) endQueued(model, job, "expired");
  return canceled + overdue.length + expired.length + emptyOutbox(model) > 0;
}

/** Applies cancels of running jobs that were committed after the run had ended: a job that waits again is canceled. */
function applyLateCancels(model: Model): number {
  const late = waiting(model).filter((job) => model.requests.get(job.name) !== undefined);
  for (const [name] of model.requests.entries()) {
    const isFinished = !["queued", "running"].includes(model.job(name).status);
    if (isFinished && !model.isHeld("requests", name)) model.requests.delete(name);
  }
  for (const job of late) endQueued(model, job, "canceled");
  return late.length;
}

function isTime(model: Model, task: string, every: number): boolean {
  return model.now >= (model.tasks.get(task) ?? Number.NEGATIVE_INFINITY) + every;
}

/** Deletes keys of jobs without history after a day, and workers after a day without heartbeats. */
export function forget(model: Model, isForced: boolean): void {
  if (!isForced && !isTime(model, "forget", forgetEvery)) return;
  model.tasks.set("forget", model.now);
  for (const [id, key] of model.keys.entries()) {
    if (key.forgetAt !== null && key.forgetAt <= model.now && !model.isHeld("keys", id))
      model.keys.delete(id);
  }
  for (const [id, beat] of model.workers.entries()) {
    if (beat.seenAt < model.now - day) model.workers.delete(id);
  }
}

/** Records a heartbeat of one run. Returns whether a cancel is requested. */
export function beat(model: Model, job: Job, progress: number | null): boolean {
  model.change(job, { beatAt: model.now, updatedAt: model.now, progress: progress ?? job.progress });
  return model.requests.get(job.name) !== undefined;
}

export interface WorkerBeat {
  readonly worker: string;
  readonly bound: string | null;
  readonly instance: string;
  /** The runs that the worker reports as held, or null if it does not report them. */
  readonly held: readonly RunReference[] | null;
}

/**
 * Records a worker heartbeat. A new instance, and runs that it does not report, end leases. A worker that is not bound
 * does maintenance. Returns the runs to abort and those that are lost.
 */
export function beatWorker(model: Model, said: WorkerBeat): { cancel: RunReference[]; lost: RunReference[] } {
  const { worker, bound, held } = said;
  const id = beatKey(worker, bound);
  const before = model.workers.get(id);
  const isRestarted = before !== undefined && before.instance !== said.instance;
  model.workers.set(id, { instance: said.instance, seenAt: model.now });
  const own = (job: Job): boolean => holds(job, worker, null, bound);
  if (held !== null) {
    for (const job of running(model).filter(own)) {
      const isNamed = held.some((run) => run.name === job.name && run.attempt === job.attempts);
      const isOld = (job.startedAt ?? 0) < model.now - unnamedFor;
      if (!isNamed && (isRestarted || isOld)) endRun(model, job, lost);
    }
  }
  if (bound === null) {
    maintainJobs(model, false);
    forget(model, false);
  }
  return {
    cancel: model.jobs
      .values()
      .filter((job) => own(job) && model.requests.get(job.name) !== undefined)
      .map((job) => ({ name: job.name, attempt: job.attempts })),
    lost: (held ?? []).filter((run) => !holds(model.jobs.get(run.name), worker, run.attempt, bound)),
  };
}

/** Does all maintenance that is due, whenever it was last done. */
export function maintain(model: Model): void {
  maintainJobs(model, true);
  forget(model, true);
}
