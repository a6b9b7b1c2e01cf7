/**
 * An application: commits its own rows and their jobs together, cancels some, and enqueues others with a key again and again until it
 * is told that they are there. It gives up nothing for trouble with the database, and needs no answer to be counted right.
 */
import "./tether.ts";
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type EnqueueOptions, type JobDefinition, JobForge } from "@jobforge/sdk-ts";
import pg from "pg";
import { type Random, randomFrom } from "../../../sql/test/support/random.ts";
import { effect, keyed, limited, parent, plain, type Step, serial, tenants, type Work } from "../jobs.ts";
import { openJournal } from "./journal.ts";

const { DATABASE_URL = "", JOURNAL = ".", NAME = "producer", SEED = "1", PAUSE_MS = "80" } = process.env;
const note = openJournal(JOURNAL, NAME);
const random = randomFrom(Number(SEED));
const pool = new pg.Pool({
  connectionString: DATABASE_URL,
  max: 4,
  connectionTimeoutMillis: 5_000,
  query_timeout: 10_000,
});
pool.on("error", () => undefined);
const forge = new JobForge({ database: pool });
/** Jobs that it was told of, to be canceled. */
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
  // Most jobs are short; some outlast several heartbeats, a few a lease.
  const ms = from.chance(0.005) ? 7_000 : from.chance(0.03) ? 1_500 : from.below(80);
  const input: Work = { order: randomUUID(), plan: from.pick(lots), ms };
  const job = from.pick([plain, plain, plain, serial, limited, effect, parent]);
  const options: EnqueueOptions = {
    tenantId,
    ...(job === serial ? { concurrencyKey: `key ${from.below(12)}` } : {}),
    ...(from.chance(0.1) ? { priority: 5 } : {}),
    ...(from.chance(0.1) ? { runAt: new Date(Date.now() + from.below(3_000)) } : {}),
  };
  // Serial jobs wait for each other, so they are short.
  const adapted = job === serial ? { ...input, ms: Math.min(ms, 100) } : input;
  return { job, input: job === parent ? { ...adapted, children: 1 + from.below(3) } : adapted, options };
}

/** Rows and jobs in one transaction. Whatever becomes of it, both are there or neither is. */
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
        NAME,
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

/** The same key until there is an answer: the job is there once, however often it was sent. */
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

/** A cancel that was answered holds, whatever happens to the job afterwards. */
async function cancel(): Promise<void> {
  const [job] = known.splice(random.below(known.length), 1);
  if (job === undefined) return;
  const { status } = await forge.cancel(job.id, { tenantId: job.tenantId });
  note({ event: "canceled", job: job.id, what: status });
}

const actions = [order, order, order, order, insist, cancel];

while (!isLeaving) {
  const action = random.pick(actions);
  try {
    await action();
  } catch (error) {
    // Trouble, or too late to cancel. An application would tell its user; the rows tell what happened.
    console.error(new Date().toISOString(), action.name, String(error));
    await sleep(100);
  }
  if (known.length > 200) known.splice(0, 100);
  await sleep(random.below(2 * Number(PAUSE_MS)));
}
await forge.close();
await pool.end();
