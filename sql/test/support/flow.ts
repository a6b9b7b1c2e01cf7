/**
 * Workers that keep their hint and count what each of their calls costs. What a hint is worth depends on how much time goes
 * by between two calls, so time is told, not taken: the figures are the same on a fast and on a slow machine.
 */
import type { TestDatabase } from "@jobforge/testing";
import { costAndResult } from "./cost.ts";
import { nowSql, type Sql } from "./kernel.ts";
import type { Report, Settlement } from "./settle.ts";

/** A clock that goes on when it is told to, for all the workers of a test. */
export interface Clock {
  /** Milliseconds. */
  now: number;
}

/** The time from one call to the next: ten thousand jobs a second, in batches of a hundred. */
const betweenCalls = 10;

/** Takes the place of the database's clock for sessions that are told the time; the others may travel as before. */
export async function stopClock(db: TestDatabase): Promise<Clock> {
  await db.query(
    `create or replace function jobforge.now() returns timestamptz language sql volatile parallel safe as $$
       select coalesce(nullif(current_setting('proof.now', true), '')::timestamptz, ${nowSql})
     $$`,
  );
  return { now: await db.value<number>("select (extract(epoch from clock_timestamp()) * 1000)::float8") };
}

/** Tells a session what time it is. */
async function tellTime(session: Sql, clock: Clock): Promise<void> {
  await session.query("select set_config('proof.now', $1, false)", [new Date(clock.now).toISOString()]);
}

/** One call of settle+claim. */
export interface Step {
  readonly worker: string;
  readonly buffers: number;
  readonly jobs: Settlement["jobs"];
  /** Whether it looked at everything, or went on where the hint said. */
  readonly looked: boolean;
  /** When the last full look was. */
  readonly at: Date;
}

export interface FlowWorker {
  /** A moment later, ends what the last call claimed, as the function says, and claims as many jobs as it may. */
  step(end?: (job: Settlement["jobs"][number]) => Report): Promise<Step>;
  /** Forgets its hint, as a worker does that keeps none. */
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
      await tellTime(session, clock);
      const reports = jobs.map((job) => ({ id: job.id, attempt: job.attempts, ...end(job) }));
      const { buffers, answer } = await costAndResult<Settlement & { hint: { at: string } }>(
        session,
        "jobforge_settle_jobs($1, $2, 100, $3, null, $4)",
        [name, JSON.stringify(reports), types, hint === null ? null : JSON.stringify(hint)],
      );
      if (answer.claim_error !== undefined) throw new Error(answer.claim_error.message);
      const looked = answer.hint.at !== hint?.at;
      ({ jobs, hint } = answer);
      return { worker: name, buffers, jobs, looked, at: new Date(answer.hint.at) };
    },
  };
}

/** Lets workers take turns until so many jobs were claimed, or none are left. */
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

/** Opens a transaction that keeps every row version from now on from being removed, as a long report does. */
export async function pinSnapshot(db: TestDatabase): Promise<void> {
  const reader = await db.connect();
  await reader.query("begin isolation level repeatable read");
  await reader.query("select count(*) from jobforge_connector_configs");
}

/** How many jobs somebody asks for who wants more than `npm test` does, and wants to see figures. */
export const askedFor: string | undefined = process.env["JOBFORGE_PROOF_JOBS"];

/** A number of jobs that somebody may have asked to raise. */
export function proofJobs(usual: number): number {
  return Number(askedFor ?? usual);
}
