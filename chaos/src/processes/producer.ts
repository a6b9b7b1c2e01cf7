/**
 * An application: commits its own rows together with their jobs, cancels some jobs, and enqueues others with an
 * idempotency key repeatedly until the enqueue is acknowledged. It goes on after any database error. The checks count
 * its jobs correctly even if the reply to a commit is lost.
 */
import "./tether.ts";
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type EnqueueOptions, type JobDefinition, JobForge } from "@jobforge/sdk-ts";
import pg from "pg";
import { type Random, randomFrom } from "../../../sql/test/support/random.ts";
import {
  effect,
  flow,
  keyed,
  limited,
  parent,
  plain,
  type Step,
  sagaSignal,
  serial,
  tenants,
  type Work,
} from "../jobs.ts";
import { openJournal } from "./journal.ts";

const { DATABASE_URL: databaseUrl = "", JOURNAL: journal = ".", NAME: name = "producer" } = process.env;
/** The average time between two actions. */
const intervalMs = 80;
const note = openJournal(journal, name);
const random = randomFrom(Number(process.env["SEED"] ?? "1"));
const pool = new pg.Pool({
  connectionString: databaseUrl,
  max: 4,
  connectionTimeoutMillis: 5_000,
  query_timeout: 10_000,
});
pool.on("error", () => undefined);
const forge = new JobForge({ database: pool });
/** Acknowledged jobs, some of which are canceled later. */
const known: { id: string; tenantId: string }[] = [];
let isLeaving = false;
process.on("SIGTERM", () => {
  isLeaving = true;
});

const plans: readonly (readonly [weight: number, plan: readonly Step[]])[] = [
  [10, ["succeed"]],
  [3, ["progress"]],
  [3, ["fail", "succeed"]],
  [2, ["defer", "succeed"]],
  [2, ["fail", "defer", "fail", "succeed"]],
  [1, ["fail"]],
  [1, ["refuse"]],
];
const lots = plans.flatMap(([weight, plan]) => Array<readonly Step[]>(weight).fill(plan));

interface Chosen {
  readonly job: JobDefinition;
  readonly input: Work;
  readonly options: EnqueueOptions;
}

function choose(from: Random): Chosen {
  const tenantId = from.pick(tenants);
  // Most jobs are short. Some last longer than a heartbeat interval, a few longer than a lease.
  const ms = from.chance(0.005) ? 7_000 : from.chance(0.03) ? 1_500 : from.below(80);
  const input: Work = { order: randomUUID(), plan: from.pick(lots), ms };
  const job = from.pick([plain, plain, plain, serial, limited, effect, parent]);
  const options: EnqueueOptions = {
    tenantId,
    ...(job === serial ? { concurrencyKey: `key ${from.below(12)}` } : {}),
    ...(from.chance(0.1) ? { priority: 5 } : {}),
    ...(from.chance(0.1) ? { runAt: new Date(Date.now() + from.below(3_000)) } : {}),
  };
  // Serial jobs are short, because they wait for each other.
  const adapted = job === serial ? { ...input, ms: Math.min(ms, 100) } : input;
  return { job, input: job === parent ? { ...adapted, children: 1 + from.below(3) } : adapted, options };
}

/** Writes rows and jobs in one transaction. Whether it commits or not, either both exist or neither does. */
async function order(): Promise<void> {
  const chosen = Array.from({ length: 1 + random.below(4) }, () => choose(random));
  const takeBack = random.chance(0.05);
  const client = await pool.connect();
  let isBroken = true;
  const onError = (): void => undefined;
  client.on("error", onError);
  try {
    await client.query("begin");
    const made: { id: string; tenantId: string }[] = [];
    for (const { job, input, options } of chosen) {
      await client.query("insert into chaos.orders (id, producer, tenant_id, type) values ($1, $2, $3, $4)", [
        input.order,
        name,
        options.tenantId,
        job.type,
      ]);
      const { id } = await forge.with(client).enqueue(job, input, options);
      made.push({ id, tenantId: options.tenantId });
    }
    await client.query(takeBack ? "rollback" : "commit");
    isBroken = false;
    if (!takeBack) known.push(...made);
  } finally {
    client.removeListener("error", onError);
    if (isBroken) client.on("error", onError);
    client.release(isBroken);
  }
}

/** Sends the same key until it is acknowledged. The job must exist exactly once, even if it was sent several times. */
async function insist(): Promise<void> {
  const key = randomUUID();
  const options = { tenantId: random.pick(tenants), idempotencyKey: key };
  const input: Work = { ms: random.below(50) };
  note({ event: "key", what: key });
  for (let tries = 0; tries < 50; tries += 1) {
    try {
      const { id } = await forge.enqueue(keyed, input, options);
      note({ event: "acknowledged", job: id, what: key });
      return;
    } catch (error) {
      console.error(new Date().toISOString(), "insist", String(error));
      await sleep(300);
    }
  }
}

/** Cancels a job. After the cancel is acknowledged it must hold, whatever happens to the job afterwards. */
async function cancel(): Promise<void> {
  const [job] = known.splice(random.below(known.length), 1);
  if (job === undefined) return;
  const { status } = await forge.cancel(job.id, { tenantId: job.tenantId });
  note({ event: "canceled", job: job.id, what: status });
}

/** Starts a workflow in the transaction of its row. Then it usually sends the signal that its saga waits for. */
async function startFlow(): Promise<void> {
  const [id, tenantId] = [randomUUID(), random.pick(tenants)];
  const items = Array.from({ length: random.below(25) }, () => ({
    plan: random.pick(lots),
    ms: random.below(40),
  }));
  const client = await pool.connect();
  let saga: string | undefined;
  let isBroken = true;
  const onError = (): void => undefined;
  client.on("error", onError);
  try {
    await client.query("begin");
    await client.query("insert into chaos.flows (id, tenant_id) values ($1, $2)", [id, tenantId]);
    const started = await forge.with(client).start(flow, { items }, { tenantId, subject: id });
    saga = started.stepIds["saga"];
    await client.query(random.chance(0.05) ? "rollback" : "commit");
    isBroken = false;
  } finally {
    client.removeListener("error", onError);
    if (isBroken) client.on("error", onError);
    client.release(isBroken);
  }
  if (saga === undefined || random.chance(0.3)) return;
  await sleep(random.below(1_000));
  await forge.signal(saga, sagaSignal, { id }, { tenantId, key: id });
}

/** Enqueues a job and its row in one statement, which is committed at once. The job may be handed to an idle worker. */
async function handOff(): Promise<void> {
  const { input } = choose(random);
  const [tenant, type] = [random.pick(tenants.slice(1)), random.pick([plain, effect]).type];
  const { rows } = await pool.query<{ made: { id: string } }>(
    `with ordered as (
       insert into chaos.orders (id, producer, tenant_id, type) values ($1, $2, $3, $4))
     select set_config('app.tenant_id', $3::text, true), jobforge_enqueue_job($3, $4, $5, p_hand_off => true) as made`,
    [input.order, name, tenant, type, JSON.stringify({ ...input, children: undefined })],
  );
  const id = rows[0]?.made.id;
  if (id !== undefined && tenant !== undefined) known.push({ id, tenantId: tenant });
}

/** Enqueues as most applications do: with the client, which may hand the job to an idle worker. */
async function enqueue(): Promise<void> {
  const tenantId = random.pick(tenants.slice(1));
  const { id } = await forge.enqueue(plain, { plan: random.pick(lots), ms: random.below(80) }, { tenantId });
  known.push({ id, tenantId });
}

const actions =
  process.env["PLAIN"] === "yes"
    ? [handOff, handOff, handOff, enqueue, enqueue, insist, cancel]
    : [order, order, order, order, startFlow, insist, cancel];

while (!isLeaving) {
  const action = random.pick(actions);
  try {
    await action();
  } catch (error) {
    // A fault, or too late to cancel. A real application would report it to its user. The checks read the database.
    console.error(new Date().toISOString(), action.name, String(error));
    await sleep(100);
  }
  if (known.length > 200) known.splice(0, 100);
  await sleep(random.below(2 * intervalMs));
}
await forge.close();
await pool.end();
