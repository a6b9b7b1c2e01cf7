/**
 * Behaves like a worker of the first release: over plain `pg`, it only uses the calls that will never change
 * (`jobforge_heartbeat_worker`, `jobforge_settle_jobs`) and their columns, and nothing that was added later.
 */
import "./tether.ts";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import {
  definitions,
  effect,
  flowSaga,
  flowSum,
  heartbeatMs,
  probeOf,
  type Step,
  type Work,
} from "../jobs.ts";
import { openJournal } from "./journal.ts";

const { DATABASE_URL: databaseUrl, JOURNAL: journal = ".", NAME: name = "worker" } = process.env;
const workerId = process.env["WORKER_ID"] ?? name;
const note = openJournal(journal, workerId);
const pool = new pg.Pool({ connectionString: databaseUrl, max: 3, query_timeout: 10_000 });
pool.on("error", () => undefined);
// It has no handlers for jobs whose effect must be written in the transaction that settles the run, nor for those that
// read results or suspend themselves, which came with a later release.
const unknown: readonly string[] = [effect.type, flowSaga.type, flowSum.type];
const types = [...definitions.map(({ type }) => type), probeOf(name).type].filter(
  (type) => !unknown.includes(type),
);
const held = new Map<string, { id: string; attempt: number }>();
let isLeaving = false;
process.on("SIGTERM", () => {
  isLeaving = true;
});

interface Claimed {
  readonly id: string;
  readonly attempts: number;
  readonly type: string;
  readonly payload: Work;
}

interface Settlement {
  readonly settled: readonly {
    readonly id: string;
    readonly attempt: number;
    readonly outcome: string;
    readonly status: string;
  }[];
  readonly jobs: readonly Claimed[];
}

async function call<T>(statement: string, values: readonly unknown[]): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      const { rows } = await pool.query(statement, [...values]);
      return rows[0].reply as T;
    } catch (error) {
      if (isLeaving && tries > 10) throw error;
      await sleep(Math.min(2_000, 100 * 2 ** tries));
    }
  }
}

const settle = (results: readonly object[], limit: number): Promise<Settlement> =>
  call("select jobforge_settle_jobs($1, $2, $3, $4) as reply", [
    workerId,
    JSON.stringify(results),
    limit,
    types,
  ]);

/** Runs a job and returns its end in the format of the protocol. */
async function run({ id, attempts: attempt, type, payload }: Claimed): Promise<object> {
  note({ event: "start", job: id, attempt });
  await sleep(payload.ms ?? 0);
  const { plan = [], children = 0 } = payload;
  const step: Step = plan[Math.min(attempt, plan.length) - 1] ?? "succeed";
  const succeeded = step === "succeed" || step === "progress";
  note({ event: "end", job: id, attempt, what: succeeded ? "returned" : "threw" });
  if (step === "defer")
    return { id, attempt, status: "deferred", run_at: new Date(Date.now() + 300), cost_cents: 1 };
  if (!succeeded) {
    return {
      id,
      attempt,
      status: "failed",
      retry: step === "fail",
      error: { message: "The plan of this job says that it fails" },
      cost_cents: 1,
    };
  }
  const offspring = Array.from({ length: children }, (_, n) => ({
    type: "chaos.child",
    payload: { parent: id, n, ms: 5 },
  }));
  return {
    id,
    attempt,
    status: "succeeded",
    cost_cents: 1,
    ...(type === "chaos.parent" ? { children: offspring } : {}),
  };
}

async function beat(): Promise<void> {
  while (!isLeaving || held.size > 0) {
    const info = { instance: String(process.pid), types, concurrency: 4, held: [...held.values()] };
    await call("select jobforge_heartbeat_worker($1, $2) as reply", [workerId, JSON.stringify(info)]);
    await sleep(heartbeatMs);
  }
}

const beating = beat();
let ends: object[] = [];
while (!isLeaving || ends.length > 0) {
  const sent = ends;
  const { settled, jobs } = await settle(sent, isLeaving ? 0 : 4);
  for (const { id, attempt, outcome, status } of settled) {
    held.delete(id);
    if (outcome === "ok") note({ event: "kept", job: id, attempt, what: status });
    if (outcome === "stale") note({ event: "stale", job: id, attempt });
  }
  for (const { id, attempts: attempt } of jobs) held.set(id, { id, attempt });
  ends = await Promise.all(jobs.map(run));
  if (ends.length === 0 && !isLeaving) await sleep(200);
}
await beating;
await pool.end();
