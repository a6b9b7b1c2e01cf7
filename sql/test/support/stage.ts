/** A queue with one job in every situation, for tests of whether an open transaction makes workers wait. */
import { maintain } from "./archive.ts";
import {
  claim,
  codeOf,
  enqueue,
  fail,
  heartbeat,
  type NewJob,
  type Sql,
  setPolicy,
  workerHeartbeat,
} from "./kernel.ts";
import { outcomes, type Report, settle, success } from "./settle.ts";

/** The jobs of a stage, all of one tenant. Those that an application may change have the subject 's'. */
export interface Stage {
  /** Runs under worker w1, as does `failing`. */
  readonly running: string;
  readonly failing: string;
  /** Runs under worker w9. */
  readonly elsewhere: string;
  /** Waits to be claimed, with the dedupe key 'queued'. */
  readonly queued: string;
  /** Due in an hour. */
  readonly waiting: string;
  /** Failed permanently, so its dedupe key 'dead' is free again. */
  readonly dead: string;
  /** Finished by worker w1. */
  readonly finished: string;
  /** Waits to be claimed. Only this job has the type 'free'. */
  readonly free: string;
}

/** Enqueues a job and claims it for a worker at once. */
async function runningUnder(db: Sql, worker: string, job: NewJob): Promise<string> {
  const { id } = await enqueue(db, job);
  await claim(db, worker, { limit: 1 });
  return id;
}

/** Deletes the rows of the last test. */
async function clear(db: Sql): Promise<void> {
  const tables = [
    "queue",
    "runs",
    "dedupe_keys",
    "payloads",
    "job_keys",
    "cancel_requests",
    "attempts",
    "archive",
    "workers",
    "watches",
    "outbox",
    "gates",
  ];
  for (const table of tables) await db.query(`delete from jobforge.${table}`);
  await db.query("delete from jobforge.policies where type <> '*'");
  await setPolicy(db, "*", { preset: "jobforge" });
  await db.query("update jobforge.maintenance set ran_at = '-infinity'");
}

/** Creates the jobs of the stage in otherwise empty tables. */
export async function prepareStage(db: Sql): Promise<Stage> {
  await clear(db);
  const dead = await runningUnder(db, "w1", { subject: "s", dedupe_key: "dead", max_attempts: 1 });
  await fail(db, dead);
  const finished = await runningUnder(db, "w1", {});
  await settle(db, [success(finished)]);
  const running = await runningUnder(db, "w1", { subject: "s", dedupe_key: "running" });
  const failing = await runningUnder(db, "w1", {});
  const elsewhere = await runningUnder(db, "w9", {});
  const ids: string[] = [];
  for (const job of [
    { subject: "s", dedupe_key: "queued", expires_in: "90 minutes" },
    { subject: "s", in: "1 hour" },
    { type: "free" },
  ]) {
    ids.push((await enqueue(db, job)).id);
  }
  const [queued = "", waiting = "", free = ""] = ids;
  return { running, failing, elsewhere, queued, waiting, dead, finished, free };
}

/** Children with every key that an application may hold: new keys, and keys of the stage's jobs. */
const children: readonly Report[] = [
  { type: "child" },
  { type: "a", idempotency_key: "new" },
  { type: "a", dedupe_key: "new" },
  { type: "a", dedupe_key: "queued", dedupe_mode: "replace" },
  { type: "a", dedupe_key: "dead" },
];

/**
 * Makes all calls that workers make, and returns their outcomes. The connection should have a short lock timeout, so
 * that a call that waits for a lock fails with 55P03.
 */
export async function workAsUsual(worker: Sql, stage: Stage): Promise<Record<string, unknown>> {
  await worker.travel("0");
  const first = await settle(worker, [], { worker: "w2", claim: 1 });
  const results: Record<string, unknown> = { "first claim": first.claim_error ?? first.jobs.length };
  const held = [stage.running, stage.failing].map((id) => ({ id, attempt: 1 }));
  const settled = async (name: string, reports: readonly Report[]): Promise<void> => {
    results[name] = await settle(worker, reports, { claim: 10, hint: first.hint }).then(
      (answer) => answer.claim_error ?? outcomes(answer),
      (error: { code: string }) => error.code,
    );
  };
  const called = async (name: string, call: Promise<unknown>): Promise<void> => {
    results[name] = await codeOf(call);
  };
  await called("claim", claim(worker, "w3", { limit: 100 }));
  await called("heartbeat of a job", heartbeat(worker, stage.running));
  await called("progress", worker.query("select jobforge_progress_job($1, 'w1', '1')", [stage.running]));
  await called("heartbeat of a worker", workerHeartbeat(worker, "w1", { instance: "1", held }));
  await called("heartbeat of the other worker", workerHeartbeat(worker, "w9", { instance: "1", held: [] }));
  await called("maintain", maintain(worker));
  await settled("settle", [
    success(stage.running, { children }),
    { id: stage.failing, attempt: 1, status: "failed" },
  ]);
  await settled("settle again", [success(stage.running), success(stage.finished), success(stage.queued)]);
  await called("enqueue", enqueue(worker, { idempotency_key: "of its own", dedupe_key: "of its own" }));
  await worker.travel("2 hours");
  await called("claim of jobs that became due", claim(worker, "w3", { limit: 100 }));
  await called("heartbeat of a new process", workerHeartbeat(worker, "w2", { instance: "2", held: [] }));
  await called("maintain, leases expired", maintain(worker));
  await settled("settle, hours later", [success(stage.failing), success(stage.free)]);
  return results;
}

/** The results of `workAsUsual` if no call waits. */
export const undelayed: Record<string, unknown> = {
  "first claim": 1,
  claim: "ok",
  "heartbeat of a job": "ok",
  progress: "ok",
  "heartbeat of a worker": "ok",
  "heartbeat of the other worker": "ok",
  maintain: "ok",
  settle: ["ok", "ok"],
  "settle again": ["already", "already", "stale"],
  enqueue: "ok",
  "claim of jobs that became due": "ok",
  "heartbeat of a new process": "ok",
  "maintain, leases expired": "ok",
  "settle, hours later": ["already", "stale"],
};

/** Ends all remaining runs, as if hours had passed, and returns the counts of jobs that the tests check. */
export async function endAll(worker: Sql): Promise<Record<string, number>> {
  await worker.travel("4 hours");
  let reports: Report[] = [];
  do {
    await maintain(worker);
    const { jobs } = await settle(worker, reports, { worker: "last", claim: 100 });
    reports = jobs.map((job) => ({ id: job.id, attempt: job.attempts, status: "succeeded" }));
  } while (reports.length > 0);
  return await worker.value<Record<string, number>>(
    `select jsonb_build_object(
       'live', (select count(*) from jobforge_jobs where finished_at is null),
       'children', (select count(*) from jobforge_jobs where type = 'child'),
       'of the new key', (select count(*) from jobforge_jobs where idempotency_key = 'new'))`,
  );
}
