/** A storm: many clients that do everything there is to do at random, at once. */
import type { TestDatabase } from "@jobforge/testing";
import { maintain } from "../archive.ts";
import { claim, connections, type KernelError, setPolicy, U } from "../kernel.ts";
import { setWeight } from "../limits.ts";
import { randomFrom } from "../random.ts";
import * as application from "./application.ts";
import type { Client } from "./client.ts";
import { kept } from "./client.ts";
import { Ledger, unkept } from "./ledger.ts";
import * as worker from "./worker.ts";

/** What clients do, and how often. */
const actions: Record<string, readonly [weight: number, act: (client: Client) => Promise<void>]> = {
  enqueue: [8, application.enqueueOne],
  "enqueue in bulk": [6, application.enqueueMany],
  "an application's transaction": [6, application.transact],
  cancel: [4, application.cancelOne],
  reschedule: [4, application.rescheduleOne],
  update: [4, application.updateOne],
  "cancel by filter": [2, application.cancelMany],
  "reschedule by filter": [3, application.rescheduleMany],
  read: [3, application.read],
  maintain: [2, application.maintainOnce],
  "set a gate": [1, application.flipGate],
  "set a policy": [1, application.changePolicy],
  "set a limit": [0, application.changeLimit],
  claim: [6, worker.claimSome],
  "claim and roll back": [1, worker.claimInVain],
  settle: [12, worker.settleSome],
  complete: [3, worker.completeOne],
  "heartbeat of a job": [3, worker.beat],
  "heartbeat of a worker": [3, worker.beatAsWorker],
};

const lots: readonly string[] = Object.entries(actions).flatMap(([name, [weight]]) =>
  Array(weight).fill(name),
);

const limitedLots: readonly string[] = [...lots, ...Array<string>(3).fill("set a limit")];

/** What a change of one job may be told: it comes too late. */
const tooLate = ["JF005", "JF006"];

/** Does one thing. Whatever error it meets is rolled back, and an objection unless it says that the call came too late. */
async function act(client: Client): Promise<void> {
  const name = client.random.pick(client.limited ? limitedLots : lots);
  try {
    await actions[name]?.[1](client);
  } catch (error) {
    const { code, message } = error as KernelError;
    await client.db.query("rollback");
    if (!tooLate.includes(code))
      client.ledger.objections.push(`${name} of ${client.name}: ${code} ${message}`);
  }
}

/** What a storm must not leave behind when it is over. */
export const leftovers = `select jsonb_build_object(
  'live jobs', (select count(*) from jobforge.jobs),
  'children not enqueued', (select count(*) from jobforge.outbox),
  'buckets to look at', (select count(*) from jobforge.unpark_requests),
  'requests to cancel', (select count(*) from jobforge.cancel_requests),
  'deadlocks', (select deadlocks from pg_stat_database where datname = current_database()))`;

export interface Storm {
  readonly clients: number;
  readonly seed: number;
  /** With concurrency keys, limits that come and go, and a tenant of weight three. */
  readonly limited?: boolean;
  /** Asked before everything a client does, with the number of what it has done. */
  going(done: number): boolean;
}

/** Lets clients loose, then ends all that is left. Answers the books. */
export async function storm(
  db: TestDatabase,
  { clients: count, seed, limited = false, going }: Storm,
): Promise<Ledger> {
  const ledger = new Ledger();
  if (limited) await setWeight(db, U, 3);
  await setPolicy(db, unkept, { keep_history: false, base_ms: 0 });
  for (const type of kept) await setPolicy(db, type, { base_ms: 10 });
  const clients = (await connections(db, count)).map(
    (connection, n): Client => ({
      name: `w${n}`,
      db: connection,
      random: randomFrom(seed + n),
      ledger,
      held: [],
      hint: null,
      instance: 0,
      payloads: 0,
      limited,
    }),
  );
  await Promise.all(
    clients.map(async (client) => {
      for (let done = 0; going(done); done += 1) await act(client);
    }),
  );
  await calmDown(db, clients);
  return ledger;
}

/** Opens the gates, ends what workers hold, and then everything that waits, as if hours had passed. */
async function calmDown(db: TestDatabase, clients: readonly Client[]): Promise<void> {
  await db.query("select jobforge_set_gate(scope, key, false) from jobforge.gates");
  await db.query("select jobforge_remove_limit(scope, key) from jobforge.limits");
  for (const client of clients) await worker.finish(client);
  for (const client of clients) await client.db.travel("2 hours");
  await Promise.all(clients.slice(0, 4).map(worker.drain));
  for (const client of clients) {
    // Leases of runs that nobody knows of are over, and children that waited for a key are enqueued.
    await maintain(client.db);
    await worker.drain(client);
    await client.db.query("select pg_stat_force_next_flush()");
  }
  await maintain(db);
  // Buckets in which somebody held a job are looked at again a second later.
  await db.travel("3 hours");
  await claim(db);
}
