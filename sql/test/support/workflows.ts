/** Shorthands for workflows: start one, run its jobs, and read its steps. */
import { expect } from "vitest";
import { claim, type Job, type Sql, T } from "./kernel.ts";
import { settle } from "./settle.ts";

export type Step = Record<string, unknown>;

export interface Started {
  id: string;
  outcome: "created" | "existing";
  status: string;
  steps: Record<string, string>;
}

export interface Workflow {
  id: string;
  status: string;
  reason: string | null;
  output: unknown;
  counts: Record<string, number>;
  waits: { step: string; signal: string; until?: string }[];
  failed: {
    step: string;
    status: string;
    reason: string;
    error: { message: string } | null;
    job_id: string;
  }[];
}

export interface StepRow extends Record<string, unknown> {
  id: string;
  path: string;
  kind: string;
  status: string;
  reason: string | null;
  job_id: string | null;
  payload: unknown;
  result: unknown;
  error: { message: string } | null;
}

export interface StartOptions {
  tenant?: string | null;
  name?: string;
  input?: unknown;
  options?: Record<string, unknown>;
}

/** Starts a workflow, by default of tenant T and the name 'flow'. */
export async function start(db: Sql, steps: unknown, more: StartOptions = {}): Promise<Started> {
  const { tenant = T, name = "flow", input = {}, options = {} } = more;
  return await db.value<Started>("select jobforge_start_workflow($1, $2, $3, $4, $5)", [
    tenant,
    name,
    JSON.stringify(steps),
    JSON.stringify(input),
    JSON.stringify(options),
  ]);
}

/** A step that runs a job of the type 'a', which needs the steps `needs`. */
export function step(name: string, needs: readonly unknown[] = [], more: Step = {}): Step {
  return { name, type: "a", ...(needs.length > 0 ? { needs } : {}), ...more };
}

/** Returns the workflow, or fails the test. */
export async function workflowOf(db: Sql, id: string, tenant = T): Promise<Workflow> {
  const found = await db.value<Workflow | null>("select jobforge_get_workflow($1, $2)", [id, tenant]);
  if (found === null) return expect.fail(`workflow ${id} was not found`);
  return found;
}

/** Returns the steps of a workflow in order. */
export async function stepsOf(db: Sql, id: string): Promise<StepRow[]> {
  return await db.query<StepRow>("select * from jobforge_steps where workflow_id = $1 order by id", [id]);
}

/** Returns the status of every step of a workflow by its path, with the reason of those that ended badly. */
export async function statusesOf(db: Sql, id: string): Promise<Record<string, string>> {
  const rows = await stepsOf(db, id);
  return Object.fromEntries(rows.map(({ path, status }) => [path, status]));
}

/** Claims all due jobs of a worker and returns the paths of their steps, by job. */
export async function claimSteps(db: Sql, worker = "w1", limit = 100): Promise<(Job & { path: string })[]> {
  const jobs = await claim(db, worker, { limit });
  const rows = await db.query<{ id: string; path: string }>(
    "select job_id as id, path from jobforge.steps where job_id = any ($1)",
    [jobs.map((job) => job.id)],
  );
  const paths = new Map(rows.map((row) => [row.id, row.path]));
  return jobs.map((job) => ({ ...job, path: paths.get(job.id) ?? "" }));
}

/** What a handler of a test does with a step: what it reports in addition to id and attempt. */
export type Handle = (step: Job & { path: string }) => Record<string, unknown>;

/** The usual handler: each step returns its path. */
export const succeed: Handle = ({ path }) => ({ status: "succeeded", result: { from: path } });

/** A failure that is not retried. */
export const refuse = { status: "failed", retry: false, error: { message: "refused" } } as const;

/** Runs all jobs until none is due, and returns the paths in the order in which they ran. */
export async function drain(db: Sql, handle: Handle = succeed, worker = "w1"): Promise<string[]> {
  const ran: string[] = [];
  for (;;) {
    const jobs = await claimSteps(db, worker);
    if (jobs.length === 0) break;
    ran.push(...jobs.map((job) => job.path));
    await settle(
      db,
      jobs.map((job) => ({ id: job.id, attempt: job.attempts, ...handle(job) })),
      { worker },
    );
  }
  await expectNoErrors(db);
  return ran;
}

/** Fails the test if an end of a step could not be recorded. */
export async function expectNoErrors(db: Sql): Promise<void> {
  const rows = await db.query<{ data: unknown }>("select data from jobforge.wakeups where what = 'end'");
  expect(rows).toEqual([]);
}
