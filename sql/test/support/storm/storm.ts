/** A storm: many clients that concurrently make random calls of all kinds. */
import type { TestDatabase } from "@jobforge/testing";
import { maintain } from "../archive.ts";
import { claim, connections, type KernelError, setPolicy, U } from "../kernel.ts";
import { setWeight } from "../limits.ts";
import { randomFrom } from "../random.ts";
import * as application from "./application.ts";
import type { Client } from "./client.ts";
import { kept } from "./client.ts";
import { Ledger, unkept } from "./ledger.ts";
import { RoomWatch } from "./rooms.ts";
import * as worker from "./worker.ts";

/** The actions of clients, and how often they occur. */
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

/** The errors of a change that comes too late. */
const tooLate = ["JF005", "JF006"];

/** Does one action. An error is rolled back and is an objection, unless the call only came too late. */
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

/** Counts rows that a storm must not leave behind. */
export const leftovers = `select jsonb_build_object(
  'live jobs', (select count(*) from jobforge.live_rows),
  'children not enqueued', (select count(*) from jobforge.outbox),
  'buckets to unpark', (select count(*) from jobforge.unpark_requests),
  'requests to cancel', (select count(*) from jobforge.cancel_requests),
  'deadlocks', (select deadlocks from pg_stat_database where datname = current_database()))`;

export interface Storm {
  readonly clients: number;
  readonly seed: number;
  /** With concurrency keys, changing limits, and a tenant of weight three. */
  readonly limited?: boolean;
  /** Called before each action of a client, with the number of its actions so far. */
  going(done: number): boolean;
}

/** Runs the clients, then ends all remaining runs. Returns the ledger. */
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
  const watch = new RoomWatch(await db.connect());
  let busy = clients.length;
  await Promise.all([
    ...clients.map(async (client) => {
      for (let done = 0; going(done); done += 1) await act(client);
      busy -= 1;
    }),
    (async () => {
      while (busy > 0) ledger.objections.push(...(await watch.look()));
    })(),
  ]);
  await calmDown(db, clients);
  ledger.objections.push(...(await watch.look()));
  return ledger;
}

/** Resumes all gates, ends the runs that workers hold, and then all waiting jobs, as if hours had passed. */
async function calmDown(db: TestDatabase, clients: readonly Client[]): Promise<void> {
  await db.query("select jobforge_set_gate(scope, key, false) from jobforge.gates");
  await db.query("select jobforge_remove_limit(scope, key) from jobforge.limits");
  for (const client of clients) await worker.finish(client);
  for (const client of clients) await client.db.travel("2 hours");
  await Promise.all(clients.slice(0, 4).map(worker.drain));
  for (const client of clients) {
    // Takes back expired leases of runs that no client holds, and enqueues children that waited for a key.
    await maintain(client.db);
    await worker.drain(client);
    await client.db.query("select pg_stat_force_next_flush()");
  }
  await maintain(db);
  // Buckets in which a transaction held a job are checked again a second later.
  await db.travel("3 hours");
  await claim(db);
}
