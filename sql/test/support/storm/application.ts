/** The calls that a client of a storm makes as an application and as an operator. */
import { maintain } from "../archive.ts";
import { enqueueJobs } from "../bulk.ts";
import { cancel, enqueue, reschedule, setPolicy } from "../kernel.ts";
import { removeLimit, setLimit } from "../limits.ts";
import {
  anyJob,
  type Client,
  concurrencyKeys,
  type Draft,
  dedupeKeys,
  draft,
  idempotencyKeys,
  isLoose,
  kept,
  payload,
  soon,
  subjects,
  tenants,
} from "./client.ts";
import { unkept } from "./ledger.ts";

/** Enters the result for a job into the ledger. */
function enter(client: Client, tenant: string, job: Draft, answer: { id: string; outcome: string }): void {
  const known = { id: answer.id, tenant, type: job.type, loose: isLoose(job) };
  client.ledger.enqueued(known, answer.outcome);
}

export async function enqueueOne(client: Client): Promise<void> {
  const tenant = client.random.pick(tenants);
  const job = draft(client);
  enter(client, tenant, job, await enqueue(client.db, { ...job, tenant_id: tenant }));
}

export async function enqueueMany(client: Client): Promise<void> {
  const tenant = client.random.pick(tenants);
  const jobs = Array.from({ length: 2 + client.random.below(30) }, () => draft(client));
  const answers = await enqueueJobs(client.db, jobs, tenant);
  for (const [n, job] of jobs.entries())
    enter(client, tenant, job, answers[n] ?? { id: "", outcome: "none" });
}

/**
 * An application's transaction: jobs with keys, then a change of another job. It takes keys in the same order as
 * jobforge_enqueue_jobs: idempotency keys before dedupe keys, each in order of their names. The job it changes has no
 * key. Transactions that take the same keys in different orders do deadlock, as with the rows of any table. The kernel
 * cannot prevent that.
 */
export async function transact(client: Client): Promise<void> {
  const { db, random } = client;
  const tenant = random.pick(tenants);
  const type = random.pick(kept);
  const modes = ["skip", "replace", "debounce"];
  const jobs: Draft[] = [
    ...random
      .some(idempotencyKeys, 2)
      .sort()
      .map((key) => ({ idempotency_key: key })),
    ...random
      .some(dedupeKeys, 2)
      .sort()
      .map((key) => ({ dedupe_key: key, dedupe_mode: random.pick(modes) })),
  ].map((keys) => ({ type, payload: payload(client), ...keys }));
  const other = anyJob(client, true);
  await db.query("begin");
  const answers: { id: string; outcome: string }[] = [];
  for (const job of jobs) answers.push(await enqueue(db, { ...job, tenant_id: tenant }));
  if (other !== undefined) await cancel(db, other.id, other.tenant);
  if (random.chance(0.3)) return void (await db.query("rollback"));
  await db.query("commit");
  for (const [n, job] of jobs.entries())
    enter(client, tenant, job, answers[n] ?? { id: "", outcome: "none" });
  if (other !== undefined) client.ledger.canceled(other);
}

export async function cancelOne(client: Client): Promise<void> {
  const job = anyJob(client);
  if (job === undefined) return;
  await cancel(client.db, job.id, job.tenant);
  client.ledger.canceled(job);
}

export async function rescheduleOne(client: Client): Promise<void> {
  const job = anyJob(client);
  if (job === undefined) return;
  await reschedule(client.db, job.id, { tenant_id: job.tenant, run_at: soon(client.random) });
}

export async function updateOne(client: Client): Promise<void> {
  const { random } = client;
  const job = anyJob(client);
  if (job === undefined) return;
  // The payload must stay, because the ledger identifies jobs by it.
  const changes = random.pick([
    { priority: random.below(4) },
    { tags: random.some(["x", "y", "z"], 2) },
    { run_at: soon(random), priority: random.below(4) },
  ]);
  await client.db.query("select jobforge_update_job($1, $2, $3)", [job.id, job.tenant, changes]);
}

export async function cancelMany({ db, random }: Client): Promise<void> {
  const filter = { type: random.pick(kept), subject: random.pick(subjects) };
  await db.query("select jobforge_cancel_jobs($1, $2, 20)", [random.pick(tenants), filter]);
}

export async function rescheduleMany({ db, random }: Client): Promise<void> {
  const filter = random.pick<Record<string, unknown>>([
    { status: ["dead", "failed"] },
    { type: random.pick(kept) },
    { subject: random.pick(subjects), status: "queued" },
  ]);
  await db.query("select jobforge_reschedule_jobs($1, $2, 20)", [random.pick(tenants), filter]);
}

export async function read(client: Client): Promise<void> {
  const { db, random } = client;
  const job = anyJob(client);
  await db.query("select * from jobforge_list_jobs($1, $2)", [
    random.pick(tenants),
    random.pick<Record<string, unknown>>([
      {},
      { type: "a" },
      { status: "dead" },
      { subject: "s1", limit: 5 },
    ]),
  ]);
  if (job === undefined) return;
  await db.query("select * from jobforge_get_job($1, $2)", [job.id, job.tenant]);
  if (job.type !== unkept) await db.query("select jobforge_watch_job($1, $2)", [job.id, job.tenant]);
}

export async function maintainOnce({ db, random }: Client): Promise<void> {
  await maintain(db, random.pick([1, 10, 1000]));
}

/** Pauses a type, a tenant or everything for a moment, or resumes it. */
export async function flipGate({ db, random }: Client): Promise<void> {
  const [scope, key] = random.pick([
    ["all", ""],
    ["type", random.pick(kept)],
    ["tenant", random.pick(tenants)],
  ]);
  const until = new Date(Date.now() + 10_000).toISOString();
  const paused = random.chance(scope === "all" ? 0.1 : 0.4);
  await db.query("select jobforge_set_gate($1, $2, $3, null, $4)", [
    scope,
    key,
    paused,
    paused ? until : null,
  ]);
}

/** Changes the policy of a type, except keep_history, so that the ledger can count the jobs. */
export async function changePolicy({ db, random }: Client): Promise<void> {
  const policy = random.pick<Record<string, unknown>>([
    { max_attempts: 1 + random.below(4) },
    { base_ms: random.below(50) },
    { max_priority: random.pick([null, 1, 2]) },
    { audit_action: random.pick([null, "RAN"]) },
    { retention_days: random.pick([1, 7, 30]) },
  ]);
  await setPolicy(db, random.pick(kept), policy);
}

/** Sets or removes a limit in a transaction, which is sometimes rolled back. */
export async function changeLimit({ db, random }: Client): Promise<void> {
  const [scope, key] = random.pick([
    ["type", random.pick([...kept, "*"])],
    ["tenant", random.pick([...tenants, "*"])],
    ["type_tenant", random.pick(["*", "a:*", `b:${random.pick(tenants)}`])],
    ["key", random.pick([...concurrencyKeys, "*", "*", "*"])],
  ]) as [string, string];
  await db.query("begin");
  const limit = random.pick([
    null,
    { rate: 20, per: "100 milliseconds", burst: 2 },
    { max: 1 + random.below(4) },
    { max: 1 },
  ]);
  if (limit === null) await removeLimit(db, scope, key);
  else await setLimit(db, scope, key, limit);
  await db.query(random.chance(0.9) ? "commit" : "rollback");
}
