/** The calls that a client of a storm makes as a worker. */
import { claim, complete, heartbeat, type Job, workerHeartbeat } from "../kernel.ts";
import { type ClaimedJob, type Report, settle } from "../settle.ts";
import { type Client, dedupe, idempotencyKeys, kept, payload, soon, tenants } from "./client.ts";
import type { Run } from "./ledger.ts";

const runOf = ({ id, attempts, type }: Job | ClaimedJob): Run => ({ id, attempt: attempts, type });

/** Claims without a hint, for all types and tenants or for some. */
export async function claimSome(client: Client): Promise<void> {
  if (client.held.length > 40) return await settleSome(client);
  const { random } = client;
  const jobs = await claim(client.db, client.name, {
    limit: 1 + random.below(10),
    types: random.chance(0.5) ? random.some(kept, 2) : null,
    tenant_id: random.chance(0.2) ? random.pick(tenants) : null,
  });
  const runs = jobs.map(runOf);
  client.ledger.claimed(client.name, runs);
  client.held.push(...runs);
}

/** Claims as a worker that crashes between its claim and the commit. */
export async function claimInVain({ db, name, random }: Client): Promise<void> {
  await db.query("begin");
  await claim(db, name, { limit: 1 + random.below(10) });
  await db.query("rollback");
}

/** Reports how runs ended, claims the next ones, and enters both into the ledger. */
async function settleAndClaim(
  client: Client,
  runs: readonly Run[],
  reports: readonly Report[],
  limit: number,
) {
  const { db, name: worker, hint } = client;
  const answer = await settle(db, reports, { worker, claim: limit, hint });
  const claimed = answer.jobs.map(runOf);
  client.ledger.settled(reports, runs, answer);
  client.ledger.claimed(worker, claimed);
  client.held.push(...claimed);
  client.hint = answer.hint;
}

/** Settles some held runs with random ends, together with reports that must be refused. Sometimes repeats the call. */
export async function settleSome(client: Client): Promise<void> {
  const { random } = client;
  const runs = random.some(client.held, 1 + random.below(20));
  client.held = client.held.filter((run) => !runs.includes(run));
  const reports = runs.map((run) => ({ id: run.id, attempt: run.attempt, ...end(client) }));
  const refused = random
    .some(runs, 2)
    .map(({ id, attempt }) => ({ id, attempt: attempt + 1, status: "succeeded" }));
  const limit = client.held.length > 40 ? 0 : random.below(20);
  await settleAndClaim(client, runs, [...reports, ...refused], limit);
  // The response was lost: the same reports are sent again, and must change nothing.
  if (random.chance(0.2)) await settleAndClaim(client, [], reports, 0);
}

/** Returns a random end of a run. */
function end(client: Client): Report {
  const { random } = client;
  const how = random.below(10);
  if (how < 2) return { status: "failed", error: { message: "boom" }, retry_at: soon(random) };
  if (how < 3) return { status: "failed", error: "no", retry: random.chance(0.5) };
  if (how < 4) return { status: "deferred", run_at: soon(random), counts: random.chance(0.5) };
  if (how < 5) return { status: "released" };
  if (how < 8) return { status: "succeeded", result: { n: how } };
  return { status: "succeeded", children: Array.from({ length: 1 + random.below(3) }, () => child(client)) };
}

/** Returns a child, with or without a key that applications also use. */
function child(client: Client): Report {
  const { random } = client;
  const job = { type: random.pick(kept), payload: payload(client), max_attempts: 2 };
  if (random.chance(0.2)) return { ...job, idempotency_key: random.pick(idempotencyKeys) };
  return random.chance(0.4) ? { ...job, ...dedupe(random) } : job;
}

/** Ends one run by a separate call. */
export async function completeOne(client: Client): Promise<void> {
  const run = client.held.shift();
  if (run === undefined) return;
  const { db, name: worker, random, ledger } = client;
  if (random.chance(0.3)) {
    const { status } = await db.value<{ status: string }>("select jobforge_defer_job($1, $2, $3, $4)", [
      run.id,
      worker,
      soon(random),
      run.attempt,
    ]);
    return ledger.completed(run, "deferred", status);
  }
  const reported = random.pick(["succeeded", "succeeded", "failed"]);
  const { status } = await complete(db, run.id, { worker, attempt: run.attempt, status: reported });
  ledger.completed(run, reported, status);
}

/** Sends a heartbeat or the progress of a run. */
export async function beat({ db, name, random, held }: Client): Promise<void> {
  const [run] = random.some(held, 1);
  if (run === undefined) return;
  if (random.chance(0.5)) await heartbeat(db, run.id, name, run.attempt);
  else
    await db.query("select jobforge_progress_job($1, $2, '{\"done\": 1}', $3)", [run.id, name, run.attempt]);
}

/** Sends a worker heartbeat, sometimes as a new process that knows only some of the runs, so the others are lost. */
export async function beatAsWorker(client: Client): Promise<void> {
  const { db, name, random, ledger } = client;
  if (random.chance(0.2)) {
    client.instance += 1;
    client.held = client.held.filter(() => random.chance(0.7));
  }
  const { lost } = await workerHeartbeat(db, name, {
    instance: `${client.instance}`,
    held: client.held.map(({ id, attempt }) => ({ id, attempt })),
    idle: random.chance(0.3),
    types: random.chance(0.5) ? random.some(kept, 2) : undefined,
  });
  if (lost.length > 0) ledger.objections.push(`${name} lost ${JSON.stringify(lost)}`);
}

/** Ends all held runs as succeeded. */
export async function finish(client: Client, limit = 0): Promise<void> {
  const runs = client.held.splice(0);
  const reports = runs.map(({ id, attempt }) => ({ id, attempt, status: "succeeded" }));
  await settleAndClaim(client, runs, reports, limit);
}

/** Claims and ends jobs until no job is due. */
export async function drain(client: Client): Promise<void> {
  do await finish(client, 500);
  while (client.held.length > 0);
}
