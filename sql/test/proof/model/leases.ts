/** The model of leases and of what keeps work flowing: signs of life, lost leases, expiry, cancels that came late. */
import { emptyOutbox } from "./enqueue.ts";
import { type End, endQueued, endRun, holds, plainEnd, type RunReference } from "./runs.ts";
import { type Beat, beatKey, type Job, type Model } from "./state.ts";

const second = 1000;
const minute = 60 * second;
const day = 24 * 60 * minute;

/** How often lost leases and the like are looked for, unless somebody calls for maintenance. */
const maintainEvery = 5 * second;
/** How often keys and workers are forgotten with heartbeats. */
const forgetEvery = 30 * second;
/** What a worker does not name as held is lost when it was claimed longer ago than this. */
const unnamedFor = 10 * second;

const lost: End = { ...plainEnd, status: "lost" };

/** The last beat of the worker that holds the job, as far as it beats for the job's tenant. */
function beatOf(model: Model, job: Job): Beat | undefined {
  const beats = [null, job.tenant].flatMap(
    (bound) => model.workers.get(beatKey(job.worker ?? "", bound)) ?? [],
  );
  return beats.sort((a, b) => b.seenAt - a.seenAt)[0];
}

/** Whether the lease of a running job is over. */
export function isLost(model: Model, job: Job): boolean {
  const policy = model.policyOf(job.type);
  const startedAt = job.startedAt ?? 0;
  const beat = beatOf(model, job);
  const signOfLife = beat === undefined ? (job.beatAt ?? startedAt) : Math.max(beat.seenAt, startedAt);
  const lease = policy.lease_ms ?? (beat === undefined ? 5 * minute : minute);
  const isWedged = policy.timeout_ms !== null && startedAt + policy.timeout_ms + minute < model.now;
  return signOfLife + lease < model.now || isWedged;
}

function running(model: Model): Job[] {
  return model.jobs.values().filter((job) => job.status === "running" && !model.isHeld("jobs", job.name));
}

function waiting(model: Model): Job[] {
  return model.jobs.values().filter((job) => job.status === "queued" && !model.isHeld("jobs", job.name));
}

/** Takes back lost leases, ends expired jobs, answers cancels and enqueues children that came late. True when any was. */
export function maintainJobs(model: Model, isForced: boolean): boolean {
  if (!isForced && !isTime(model, "jobs", maintainEvery)) return false;
  model.tasks.set("jobs", model.now);
  const canceled = answerCancels(model);
  const overdue = running(model).filter((job) => isLost(model, job));
  for (const job of overdue) endRun(model, job, lost);
  const expired = waiting(model).filter((job) => job.expiresAt !== null && job.expiresAt <= model.now);
  for (const job of expired) endQueued(model, job, "expired");
  return canceled + overdue.length + expired.length + emptyOutbox(model) > 0;
}

/** A cancel of a running job that was committed after its run had ended: the job is canceled if it waits again. */
function answerCancels(model: Model): number {
  const late = waiting(model).filter((job) => model.requests.get(job.name) !== undefined);
  for (const [name] of model.requests.entries()) {
    const isOver = !["queued", "running"].includes(model.job(name).status);
    if (isOver && !model.isHeld("requests", name)) model.requests.delete(name);
  }
  for (const job of late) endQueued(model, job, "canceled");
  return late.length;
}

function isTime(model: Model, task: string, every: number): boolean {
  return model.now >= (model.tasks.get(task) ?? Number.NEGATIVE_INFINITY) + every;
}

/** Forgets keys of jobs without history after a day, and workers after a day of silence. */
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

/** A sign of life of one run. */
export function beat(model: Model, job: Job, progress: number | null): boolean {
  model.change(job, { beatAt: model.now, updatedAt: model.now, progress: progress ?? job.progress });
  return model.requests.get(job.name) !== undefined;
}

export interface WorkerBeat {
  readonly worker: string;
  readonly bound: string | null;
  readonly instance: string;
  /** What it says it holds; null when it does not say. */
  readonly held: readonly RunReference[] | null;
}

/** A worker's sign of life: its new instance, or what it does not name, ends leases. Answers what to abort and what it lost. */
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
  maintainJobs(model, false);
  forget(model, false);
  return {
    cancel: model.jobs
      .values()
      .filter((job) => own(job) && model.requests.get(job.name) !== undefined)
      .map((job) => ({ name: job.name, attempt: job.attempts })),
    lost: (held ?? []).filter((run) => !holds(model.jobs.get(run.name), worker, run.attempt, bound)),
  };
}

/** Everything that is due, whenever it was last done. */
export function maintain(model: Model): void {
  maintainJobs(model, true);
  forget(model, true);
}
