/**
 * The model of claims. The kernel chooses within rules which jobs a claim takes. The model checks whether the choice
 * was legal, and adopts it.
 */
import { maintainJobs } from "./leases.ts";
import type { Job, Model } from "./state.ts";

export interface Wanted {
  readonly worker: string;
  readonly limit: number;
  readonly types: readonly string[] | null;
  /** The requested tenant, or the tenant that the worker is bound to. */
  readonly tenant: string | null;
  /** Whether the worker is bound to the tenant. Then it does no maintenance. */
  readonly isBound: boolean;
  /** Whether the call had a hint, which may miss changes of the last second. */
  readonly isHinted: boolean;
}

/** How long a hint is valid, in milliseconds. */
const hintLifetime = 1000;

/** A choice that the rules do not allow. */
export class IllegalClaim extends Error {}

export function isPaused(model: Model, gate: string): boolean {
  const closed = model.gates.get(gate);
  return closed !== undefined && (closed.until === null || closed.until > model.now);
}

/** Returns the gates that can pause a job. */
function gatesOf(job: Job): string[] {
  return ["all", `type ${job.type}`, `tenant ${job.tenant}`];
}

/** Returns whether no gate pauses the job. */
function isOpen(model: Model, job: Job): boolean {
  return !gatesOf(job).some((gate) => isPaused(model, gate));
}

/** Returns whether no gate pauses the type. */
export function isTypeOpen(model: Model, type: string): boolean {
  return !isPaused(model, "all") && !isPaused(model, `type ${type}`);
}

/** Returns the queued jobs that the call requests, are due and not paused. Some may not be claimable now. */
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
 * Checks a claim of the jobs with these marks and starts them. Returns them in the expected order. A claim that cannot
 * fill its limit first maintains jobs, unless its worker is bound.
 */
export function claim(model: Model, wanted: Wanted, marks: readonly number[]): Job[] {
  if (new Set(marks).size < marks.length) throw new IllegalClaim("a job was claimed twice");
  const taken = take(model, wanted, wanted.limit, marks);
  if (taken.length < wanted.limit && !wanted.isBound && maintainJobs(model, false)) {
    taken.push(...take(model, wanted, wanted.limit - taken.length, marks));
  }
  for (const mark of marks) {
    if (!taken.some((job) => job.payload.mark === mark)) throw new IllegalClaim(whyNot(model, wanted, mark));
  }
  return taken.sort(byTurn);
}

/** Takes the chosen jobs from those that can be claimed now, up to the limit. */
function take(model: Model, wanted: Wanted, limit: number, marks: readonly number[]): Job[] {
  const turns = due(model, wanted);
  const pool = turns.filter((job) => isClaimable(model, job));
  const chosen = pool.filter((job) => marks.includes(job.payload.mark));
  const expected = Math.min(limit, pool.length);
  if (chosen.length !== expected) {
    const left = pool.filter((job) => !chosen.includes(job)).map((job) => job.name);
    throw new IllegalClaim(
      `claimed ${chosen.length} jobs, expected ${expected}; left: ${left.join(", ") || "none"}`,
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

/** The order inside a lane and of the result: priority, run_at, then insertion. */
export function byTurn(a: Job, b: Job): number {
  return b.priority - a.priority || a.runAt - b.runAt || a.seq - b.seq;
}

/** Requires that no job of a higher priority was skipped, nor an older one of its tenant and priority, of any type. */
function requireOrder(model: Model, wanted: Wanted, pool: readonly Job[], chosen: readonly Job[]): void {
  const left = pool.filter((job) => !chosen.includes(job) && !mayBeMissed(model, wanted, job));
  for (const job of chosen) {
    const isSameLane = (other: Job): boolean =>
      other.priority === job.priority && other.tenant === job.tenant;
    const skipped = left.find(
      (other) => other.priority > job.priority || (isSameLane(other) && byTurn(other, job) < 0),
    );
    if (skipped !== undefined) throw new IllegalClaim(`${job.name} was claimed before ${skipped.name}`);
  }
}

/** Returns whether a hint may miss the job, because it did not exist, was not due or was paused a second ago. */
function mayBeMissed(model: Model, wanted: Wanted, job: Job): boolean {
  if (!wanted.isHinted) return false;
  const opened = gatesOf(job).map((gate) => model.gates.get(gate)?.until ?? 0);
  const since = Math.max(model.shared.changedAt.get(job.name) ?? 0, job.runAt, ...opened);
  return model.now - since <= hintLifetime;
}

/** Requires that within a priority every waiting tenant gets an equal share of the claim, if it has enough jobs. */
function requireShares(turns: readonly Job[], pool: readonly Job[], chosen: readonly Job[]): void {
  const lowest = Math.min(...chosen.map((job) => job.priority));
  const places = chosen.filter((job) => job.priority === lowest).length;
  const tenants = new Set(turns.filter((job) => job.priority === lowest).map((job) => job.tenant));
  const share = Math.floor(places / tenants.size);
  for (const tenant of tenants) {
    const of = (jobs: readonly Job[]): number =>
      jobs.filter((job) => job.tenant === tenant && job.priority === lowest).length;
    if (of(chosen) < Math.min(share, of(pool))) {
      throw new IllegalClaim(`a tenant got ${of(chosen)} of ${places} jobs, its share is ${share}`);
    }
  }
}

function whyNot(model: Model, wanted: Wanted, mark: number): string {
  const job = model.jobs.values().find(({ payload }) => payload.mark === mark);
  if (job === undefined) return `claimed a job with mark ${mark} that should not exist`;
  const claimed = `claimed ${job.name} of ${job.tenant}`;
  if (job.status !== "queued") return `${claimed}, which is ${job.status} under ${job.worker ?? "no worker"}`;
  if (!due(model, wanted).includes(job)) return `${claimed}, which is not due, not requested, or paused`;
  if (!isClaimable(model, job))
    return `${claimed}, which is expired, canceled or held by an open transaction`;
  return `${claimed} beyond the limit`;
}

/**
 * Returns whether this may be the time when the next waiting job is due, of one tenant or of all: the earliest time in
 * the future, or a past time for a due job that no claim has promoted yet.
 */
export function isNextDue(
  model: Model,
  types: readonly string[] | null,
  tenant: string | null,
  answer: number | null,
): boolean {
  const ahead = model.jobs
    .values()
    .filter(
      (job) =>
        job.status === "queued" &&
        job.runAt > model.now &&
        (types === null || types.includes(job.type)) &&
        (tenant === null || tenant === job.tenant) &&
        isTypeOpen(model, job.type),
    )
    .map((job) => job.runAt);
  if (answer !== null && answer <= model.now) return true;
  return answer === (ahead.length === 0 ? null : Math.min(...ahead));
}
