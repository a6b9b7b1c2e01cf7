/**
 * Creates a small history in which every promise is kept. It is made by the kernel, and recorded as processes would.
 */
import { randomUUID } from "node:crypto";
import type { TestDatabase } from "@jobforge/testing";
import {
  effect,
  flow,
  flowSaga,
  flowSum,
  keyed,
  parent,
  plain,
  type Step,
  sagaParts,
  serial,
  tenants,
  type Work,
} from "../../src/jobs.ts";
import { prepareDatabase } from "../../src/schema.ts";

type Claimed = {
  readonly id: string;
  readonly attempts: number;
  readonly type: string;
  readonly payload: Work;
};

interface Settled {
  readonly settled: readonly { readonly outcome: string; readonly status: string }[];
}

const [tenant = ""] = tenants.slice(2);

export async function makeHistory(db: TestDatabase): Promise<void> {
  await prepareDatabase(db.url, ["w1"]);
  await order(db, plain.type, ["succeed"]);
  await order(db, plain.type, ["fail"], { max_attempts: 1 });
  await order(db, plain.type, ["refuse"]);
  await order(db, serial.type, ["succeed"], { concurrency_key: "k" });
  await order(db, serial.type, ["succeed"], { concurrency_key: "k" });
  await order(db, effect.type, ["succeed"]);
  await order(db, parent.type, ["succeed"], {}, { children: 2 });
  await startFlow(db);
  await insist(db);
  await cancel(db, await order(db, plain.type, ["succeed"]));
  await lose(db);
  await drain(db);
  // Due times pass, and the schedule with `missed: all` catches up.
  await db.travel("3 seconds");
  await drain(db);
  await db.query("select jobforge_disable_schedule(tenant_id, type, key) from jobforge.schedules");
  await drain(db);
}

/** Inserts a row of the application with its job. Returns the id of the job. */
async function order(
  db: TestDatabase,
  type: string,
  plan: readonly Step[],
  options: object = {},
  more: Partial<Work> = {},
): Promise<string> {
  const id = randomUUID();
  await db.query("insert into chaos.orders (id, producer, tenant_id, type) values ($1, 'p1', $2, $3)", [
    id,
    tenant,
    type,
  ]);
  const [job] = await db.value<{ id: string }[]>("select jobforge_enqueue_jobs($1, $2)", [
    tenant,
    JSON.stringify([{ type, payload: { order: id, plan, ...more }, ...options }]),
  ]);
  return job?.id ?? "";
}

async function insist(db: TestDatabase): Promise<void> {
  const enqueued = await db.value<{ id: string }>(
    "select jobforge_enqueue_job($1, $2, p_idempotency_key => 'key 1')",
    [tenant, keyed.type],
  );
  await db.query("insert into chaos.keys values ('key 1', $1), ('never sent', null)", [enqueued.id]);
}

async function cancel(db: TestDatabase, id: string): Promise<void> {
  await db.query("select jobforge_cancel_job($1, $2)", [id, tenant]);
  await db.query("insert into chaos.cancels values ($1, 'canceled', clock_timestamp())", [id]);
}

/** Loses a run: its worker is replaced by another instance, and the report of the first one is too late. */
async function lose(db: TestDatabase): Promise<void> {
  const beat = (instance: string): Promise<unknown> =>
    db.query("select jobforge_heartbeat_worker('w2', $1)", [{ instance, held: [] }]);
  await beat("one");
  const [job] = await claim(db, "w2", 1);
  if (job === undefined) throw new Error("there is no job to claim");
  await begin(db, "w2", job);
  await beat("two");
  await end(db, "w2", job, { id: job.id, attempt: job.attempts, status: "succeeded" }, "returned");
}

/** Starts a workflow with two items and its row. Its saga waits for its children once. */
async function startFlow(db: TestDatabase): Promise<void> {
  const id = randomUUID();
  await db.query("insert into chaos.flows (id, tenant_id) values ($1, $2)", [id, tenant]);
  await db.query("select jobforge_start_workflow($1, $2, $3, $4, $5)", [
    tenant,
    flow.name,
    JSON.stringify(flow.graph.steps),
    JSON.stringify({ items: [{}, {}] }),
    JSON.stringify({ subject: id }),
  ]);
}

/** How a run of a saga ends: first it waits for its children, then it succeeds. */
function sagaEnd(attempt: number): object {
  if (attempt > 1) return { status: "succeeded", result: { notes: 2, parts: sagaParts }, cost_cents: 2 };
  const children = Array.from({ length: sagaParts }, () => ({ type: "chaos.flow.item" }));
  return { status: "suspended", wait: { name: "all", children } };
}

/** Runs due jobs until no job is due. */
async function drain(db: TestDatabase): Promise<void> {
  for (;;) {
    const jobs = await claim(db, "w1", 100);
    if (jobs.length === 0) return;
    for (const job of jobs) {
      await begin(db, "w1", job);
      const { id, attempts: attempt, type, payload } = job;
      const [step = "succeed"] = payload.plan ?? [];
      const failed = { id, attempt, status: "failed", retry: step === "fail", error: "no" };
      const children = Array.from({ length: payload.children ?? 0 }, (_, n) => ({
        type: "chaos.child",
        payload: { parent: id, n },
      }));
      const succeeded = { id, attempt, status: "succeeded", cost_cents: 2, children };
      if (type === effect.type) await db.query("insert into chaos.effects values ($1, $2)", [id, attempt]);
      if (type === flowSum.type) await end(db, "w1", job, { ...succeeded, result: { good: 2 } }, "returned");
      else if (type === flowSaga.type)
        await end(db, "w1", job, { id, attempt, ...sagaEnd(attempt) }, "returned");
      else if (step === "succeed") await end(db, "w1", job, succeeded, "returned");
      else await end(db, "w1", job, failed, "threw");
    }
  }
}

function claim(db: TestDatabase, worker: string, limit: number): Promise<Claimed[]> {
  return db.query<Claimed>("select id, attempts, type, payload from jobforge_claim_jobs($1, $2)", [
    worker,
    limit,
  ]);
}

async function begin(db: TestDatabase, worker: string, { id, attempts }: Claimed): Promise<void> {
  await db.query(
    `insert into chaos.executions (job_id, attempt, worker_id, process, started_at) values ($1, $2, $3, 1, clock_timestamp())`,
    [id, attempts, worker],
  );
}

async function end(
  db: TestDatabase,
  worker: string,
  { id, attempts }: Claimed,
  report: object,
  outcome: string,
): Promise<void> {
  await db.query(
    "update chaos.executions set ended_at = clock_timestamp(), outcome = $3 where (job_id, attempt) = ($1, $2)",
    [id, attempts, outcome],
  );
  const reply = await db.value<Settled>("select jobforge_settle_jobs($1, $2)", [
    worker,
    JSON.stringify([report]),
  ]);
  const [settled] = reply.settled;
  await db.query("insert into chaos.replies values ($1, $2, $3, $4, clock_timestamp())", [
    id,
    attempts,
    worker,
    settled?.outcome === "ok" ? settled.status : settled?.outcome,
  ]);
}
