/**
 * Workers that keep their hint and count the cost of each of their calls. The value of a hint depends on the time
 * between two calls, so the test sets the time: the figures are the same on fast and slow machines.
 */
import type { TestDatabase } from "@jobforge/testing";
import { costAndResult } from "./cost.ts";
import { nowSql, type Sql } from "./kernel.ts";
import type { Report, Settlement } from "./settle.ts";

/** A clock that the test advances, for all workers of a test. */
export interface Clock {
  /** Milliseconds. */
  now: number;
}

/** The milliseconds between two calls: ten thousand jobs a second, in batches of a hundred. */
const betweenCalls = 10;

/** Replaces the database's clock for sessions that set the time. Other sessions may travel as before. */
export async function stopClock(db: TestDatabase): Promise<Clock> {
  await db.query(
    `create or replace function jobforge.now() returns timestamptz language sql volatile parallel safe as $$
       select coalesce(nullif(current_setting('proof.now', true), '')::timestamptz, ${nowSql})
     $$`,
  );
  return { now: await db.value<number>("select (extract(epoch from clock_timestamp()) * 1000)::float8") };
}

/** Sets the time of a session. */
async function setTime(session: Sql, clock: Clock): Promise<void> {
  await session.query("select set_config('proof.now', $1, false)", [new Date(clock.now).toISOString()]);
}

/** One call that settles and claims. */
export interface Step {
  readonly worker: string;
  readonly buffers: number;
  readonly jobs: Settlement["jobs"];
  /** Whether the claim did a full look, or continued from the hint. */
  readonly looked: boolean;
  /** The time of the last full look. */
  readonly at: Date;
}

export interface FlowWorker {
  /** Advances the clock, ends the runs of the last call as the function says, and claims up to 100 jobs. */
  step(end?: (job: Settlement["jobs"][number]) => Report): Promise<Step>;
  /** Drops the hint, as a worker that keeps none. */
  forget(): void;
}

const succeed = (): Report => ({ status: "succeeded" });

export function flowWorker(session: Sql, name: string, clock: Clock, types: readonly string[]): FlowWorker {
  let jobs: Settlement["jobs"] = [];
  let hint: { at: string } | null = null;
  return {
    forget: () => {
      hint = null;
    },
    step: async (end = succeed) => {
      clock.now += betweenCalls;
      await setTime(session, clock);
      const reports = jobs.map((job) => ({ id: job.id, attempt: job.attempts, ...end(job) }));
      const { buffers, result } = await costAndResult<Settlement & { hint: { at: string } }>(
        session,
        "jobforge_settle_jobs($1, $2, 100, $3, null, $4)",
        [name, JSON.stringify(reports), types, hint === null ? null : JSON.stringify(hint)],
      );
      if (result.claim_error !== undefined) throw new Error(result.claim_error.message);
      const looked = result.hint.at !== hint?.at;
      ({ jobs, hint } = result);
      return { worker: name, buffers, jobs, looked, at: new Date(result.hint.at) };
    },
  };
}

/** Lets workers take turns until `count` jobs were claimed, or no jobs are left. */
export async function flow(workers: readonly FlowWorker[], count: number): Promise<Step[]> {
  const steps: Step[] = [];
  for (let claimed = 0, n = 0; claimed < count; n += 1) {
    const step = await workers[n % workers.length]?.step();
    if (step === undefined || step.jobs.length === 0) break;
    claimed += step.jobs.length;
    steps.push(step);
  }
  return steps;
}

/** Opens a transaction that keeps every later dead row version from being removed, as a long report does. */
export async function pinSnapshot(db: TestDatabase): Promise<void> {
  const reader = await db.connect();
  await reader.query("begin isolation level repeatable read");
  await reader.query("select count(*) from jobforge_connector_configs");
}

/** The number of jobs for a larger run than in `npm test`, which also prints figures. */
export const requestedJobs: string | undefined = process.env["JOBFORGE_PROOF_JOBS"];

/** Returns the requested number of jobs, or the usual one. */
export function proofJobs(usual: number): number {
  return Number(requestedJobs ?? usual);
}
