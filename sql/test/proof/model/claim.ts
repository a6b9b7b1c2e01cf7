/**
 * The model of claiming. Which jobs a claim takes is the kernel's choice within rules: the model says whether a choice
 * was legal, and adopts it.
 */
import { maintainJobs } from "./leases.ts";
import type { Job, Model } from "./state.ts";

export interface Wanted {
  readonly worker: string;
  readonly limit: number;
  readonly types: readonly string[] | null;
  /** The tenant asked for, or that the worker is bound to. */
  readonly tenant: string | null;
  /** Whether the call carried a hint, which may overlook what changed within its second. */
  readonly isHinted: boolean;
}

/** A hint counts for so long. */
const hintLifetime = 1000;

/** A choice that no rule allows. */
export class IllegalClaim extends Error {}

export function isPaused(model: Model, gate: string): boolean {
  const closed = model.gates.get(gate);
  return closed !== undefined && (closed.until === null || closed.until > model.now);
}

/** The gates that a job has to pass. */
function gatesOf(job: Job): string[] {
  return ["all", `type ${job.type}`, `tenant ${job.tenant}`];
}

/** Whether no gate keeps the job from being claimed. */
function isOpen(model: Model, job: Job): boolean {
  return !gatesOf(job).some((gate) => isPaused(model, gate));
}

/** Whether jobs of the type may be claimed, whosoever's they are. */
export function isTypeOpen(model: Model, type: string): boolean {
  return !isPaused(model, "all") && !isPaused(model, `type ${type}`);
}

/** Queued jobs that the call asks for, are due and not paused: what takes turns, though some may not be had. */
function due(model: Model, wanted: Wanted): Job[] {
  return model.jobs
    .values()
    .filter(
      (job) =>
        job.status === "queued" &&
        job.runAt <= model.now &&
        (wanted.types === null || wanted.types.includes(job.type)) &&
        (wanted.tenant === null || wanted.tenant === job.tenant) &&
        isOpen(model, job),
    );
}

function isClaimable(model: Model, job: Job): boolean {
  return (
    (job.expiresAt === null || job.expiresAt > model.now) &&
    model.requests.get(job.name) === undefined &&
    !model.isHeld("jobs", job.name)
  );
}

/**
 * Judges a claim of the jobs with these marks and makes them running; answers them in the order they should come. A claim
 * that would come back short does maintainJobs first.
 */
export function claim(model: Model, wanted: Wanted, marks: readonly number[]): Job[] {
  if (new Set(marks).size < marks.length) throw new IllegalClaim("a job was claimed twice");
  const taken = take(model, wanted, wanted.limit, marks);
  if (taken.length < wanted.limit && maintainJobs(model, false)) {
    taken.push(...take(model, wanted, wanted.limit - taken.length, marks));
  }
  for (const mark of marks) {
    if (!taken.some((job) => job.payload.mark === mark)) throw new IllegalClaim(whyNot(model, wanted, mark));
  }
  return taken.sort(byTurn);
}

/** Takes from what can be claimed now, up to the limit. */
function take(model: Model, wanted: Wanted, limit: number, marks: readonly number[]): Job[] {
  const turns = due(model, wanted);
  const pool = turns.filter((job) => isClaimable(model, job));
  const chosen = pool.filter((job) => marks.includes(job.payload.mark));
  const expected = Math.min(limit, pool.length);
  if (chosen.length !== expected) {
    const left = pool.filter((job) => !chosen.includes(job)).map((job) => job.name);
    throw new IllegalClaim(
      `claimed ${chosen.length}, should be ${expected}; left ${left.join(", ") || "none"}`,
    );
  }
  requireOrder(model, wanted, pool, chosen);
  if (!wanted.isHinted) requireShares(turns, pool, chosen);
  return chosen.map((job) =>
    model.change(job, {
      status: "running",
      attempts: job.attempts + 1,
      worker: wanted.worker,
      startedAt: model.now,
      beatAt: null,
      updatedAt: model.now,
    }),
  );
}

/** The order inside a lane, and of answers: run_at, then insertion. */
export function byTurn(a: Job, b: Job): number {
  return b.priority - a.priority || a.runAt - b.runAt || a.seq - b.seq;
}

/** Nothing of a higher priority was passed over, nor anything older of the same tenant and priority, of whatever type. */
function requireOrder(model: Model, wanted: Wanted, pool: readonly Job[], chosen: readonly Job[]): void {
  const left = pool.filter((job) => !chosen.includes(job) && !mayBeOverlooked(model, wanted, job));
  for (const job of chosen) {
    const isSameLane = (other: Job): boolean =>
      other.priority === job.priority && other.tenant === job.tenant;
    const passed = left.find(
      (other) => other.priority > job.priority || (isSameLane(other) && byTurn(other, job) < 0),
    );
    if (passed !== undefined) throw new IllegalClaim(`${job.name} was claimed before ${passed.name}`);
  }
}

/** A hint may overlook what could not be claimed a second ago: it was not there, not due or paused. */
function mayBeOverlooked(model: Model, wanted: Wanted, job: Job): boolean {
  if (!wanted.isHinted) return false;
  const opened = gatesOf(job).map((gate) => model.gates.get(gate)?.until ?? 0);
  const since = Math.max(model.shared.changedAt.get(job.name) ?? 0, job.runAt, ...opened);
  return model.now - since <= hintLifetime;
}

/** Within a priority every waiting tenant gets an equal share of what is left, as far as it has so much. */
function requireShares(turns: readonly Job[], pool: readonly Job[], chosen: readonly Job[]): void {
  const lowest = Math.min(...chosen.map((job) => job.priority));
  const places = chosen.filter((job) => job.priority === lowest).length;
  const tenants = new Set(turns.filter((job) => job.priority === lowest).map((job) => job.tenant));
  const share = Math.floor(places / tenants.size);
  for (const tenant of tenants) {
    const of = (jobs: readonly Job[]): number =>
      jobs.filter((job) => job.tenant === tenant && job.priority === lowest).length;
    if (of(chosen) < Math.min(share, of(pool))) {
      throw new IllegalClaim(`a tenant got ${of(chosen)} places of ${places}, its share is ${share}`);
    }
  }
}

function whyNot(model: Model, wanted: Wanted, mark: number): string {
  const job = model.jobs.values().find(({ payload }) => payload.mark === mark);
  if (job === undefined) return `claimed a job of mark ${mark} that should not exist`;
  const claimed = `claimed ${job.name} of ${job.tenant}`;
  if (job.status !== "queued") return `${claimed}, which is ${job.status} under ${job.worker ?? "nobody"}`;
  if (!due(model, wanted).includes(job)) return `${claimed}, which is not due, not asked for, or paused`;
  if (!isClaimable(model, job))
    return `${claimed}, which is expired, canceled or held by an open transaction`;
  return `${claimed} beyond the limit`;
}

/**
 * Whether the answer may be when the next waiting job becomes due: the first one ahead, or a time that has come, for a
 * due job that nobody has taken up yet.
 */
export function isNextDue(model: Model, types: readonly string[] | null, answer: number | null): boolean {
  const ahead = model.jobs
    .values()
    .filter(
      (job) =>
        job.status === "queued" &&
        job.runAt > model.now &&
        (types === null || types.includes(job.type)) &&
        isTypeOpen(model, job.type),
    )
    .map((job) => job.runAt);
  if (answer !== null && answer <= model.now) return true;
  return answer === (ahead.length === 0 ? null : Math.min(...ahead));
}
