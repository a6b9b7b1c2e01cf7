/**
 * Random hand-offs from several connections, with transactions that roll back, notifications that are lost and workers
 * that restart: no attempt starts twice, none is missing, and one that never arrived costs nothing.
 */
import type { TestConnection, TestDatabase } from "@jobforge/testing";
import { expect, onTestFailed } from "vitest";
import { test } from "../../../test/database.ts";
import { maintain } from "../support/archive.ts";
import { cancel, claim, connections, enqueue, type KernelError, workerHeartbeat } from "../support/kernel.ts";
import { removeLimit, setLimit } from "../support/limits.ts";
import { type Random, randomFrom, seedOfRun } from "../support/random.ts";
import { type Report, settle } from "../support/settle.ts";

const seconds = Number(process.env["JOBFORGE_PROOF_SECONDS"] ?? 0);
const types = ["a", "b"];
const slots = 3;

/** What the clients know after their commits. */
class Records {
  readonly created = new Set<string>();
  readonly rolledBack = new Set<string>();
  readonly canceled = new Set<string>();
  readonly objections: string[] = [];
  handedOver = 0;
  /** By job and attempt: the process that has started it, and how it ended; "lost" until it is reported. */
  readonly runs = new Map<string, { readonly by: string; end: string }>();

  started(by: string, id: string, attempt: number): void {
    const name = `${id}/${attempt}`;
    const before = this.runs.get(name);
    if (before !== undefined) this.objections.push(`${name} started at ${before.by}, and again at ${by}`);
    this.runs.set(name, { by, end: "lost" });
  }
}

/** A worker process and an application on one connection. */
interface Client {
  readonly db: TestConnection;
  readonly name: string;
  readonly random: Random;
  readonly records: Records;
  readonly others: readonly Client[];
  instance: number;
  /** The attempts that it runs, by job. */
  held: Map<string, number>;
  /** The jobs of which it was notified. */
  inbox: string[];
}

const processOf = ({ name, instance }: Client): string => `${name}#${instance}`;

function start(client: Client, id: string, attempt: number): void {
  if (client.held.get(id) === attempt) return;
  client.records.started(processOf(client), id, attempt);
  client.held.set(id, attempt);
}

async function enqueueOne({ db, random }: Client): Promise<{ id: string; locked_by: string | null }> {
  return await enqueue(db, {
    type: random.pick(types),
    hand_off: random.chance(0.97),
    max_attempts: 100,
  } as never);
}

/** Enqueues jobs, in a transaction or not. Some of it is rolled back, and some notifications are lost. */
async function handOff(client: Client): Promise<void> {
  const { db, random, records, others } = client;
  const kept: { id: string; locked_by: string | null }[] = [];
  const how = random.pick(["call", "call", "commit", "rollback", "savepoint"]);
  if (how !== "call") await db.query("begin");
  if (how === "savepoint") await db.query("savepoint s");
  const first = await enqueueOne(client);
  if (how === "savepoint") {
    await db.query("rollback to s");
    records.rolledBack.add(first.id);
    kept.push(await enqueueOne(client));
  } else if (how !== "rollback") kept.push(first);
  if (how === "rollback") records.rolledBack.add(first.id);
  if (how !== "call") await db.query(how === "rollback" ? "rollback" : "commit");
  for (const { id, locked_by } of kept) {
    records.created.add(id);
    if (locked_by === null) continue;
    records.handedOver += 1;
    if (random.chance(0.7)) others.find(({ name }) => name === locked_by)?.inbox.push(id);
  }
}

async function receive(client: Client, ids = client.inbox.splice(0)): Promise<void> {
  if (ids.length === 0) return;
  const jobs = JSON.parse(
    await client.db.value<string>("select jobforge_receive_jobs($1, $2)", [client.name, ids]),
  ) as { id: string; attempts: number }[];
  for (const { id, attempts } of jobs) start(client, id, attempts);
}

async function beat(client: Client, more: Record<string, unknown> = {}): Promise<void> {
  const held = [...client.held].map(([id, attempt]) => ({ id, attempt }));
  const answer = await workerHeartbeat(client.db, client.name, {
    instance: `${client.instance}`,
    types,
    concurrency: slots,
    idle: held.length < slots,
    hand_off: types,
    held,
    ...more,
  });
  if (answer.lost.length > 0)
    client.records.objections.push(`${client.name} lost ${JSON.stringify(answer.lost)}`);
  const { handed } = answer as unknown as { handed: string[] };
  if (client.random.chance(0.5)) await receive(client, handed);
}

async function end(client: Client, ids: readonly string[], limit: number): Promise<void> {
  const { db, name, random, records, held } = client;
  const reports = ids.map((id): Report => {
    const how = random.below(20);
    const status = how < 18 ? "succeeded" : how < 19 ? "released" : "failed";
    return {
      id,
      attempt: held.get(id),
      status,
      ...(status === "failed" ? { retry_at: new Date().toISOString() } : {}),
    };
  });
  const answer = await settle(db, reports, { worker: name, claim: limit, types });
  if (answer.claim_error !== undefined) records.objections.push(answer.claim_error.message);
  for (const [n, { outcome }] of answer.settled.entries()) {
    const { id, attempt, status } = reports[n] ?? {};
    if (outcome !== "ok") records.objections.push(`${id}/${attempt} of ${processOf(client)} was ${outcome}`);
    const run = records.runs.get(`${id}/${attempt}`);
    if (run !== undefined) run.end = String(status);
    held.delete(String(id));
  }
  for (const { id, attempts } of answer.jobs) start(client, id, attempts);
}

async function restart(client: Client, says: boolean): Promise<void> {
  if (says) await beat(client, { held: [], stopped: true });
  client.instance += 1;
  client.held = new Map();
  client.inbox = [];
  await beat(client);
}

/** The actions, and how often they occur. */
const actions: readonly (readonly [weight: number, act: (client: Client) => Promise<void>])[] = [
  [60, handOff],
  [30, (client) => beat(client)],
  [50, (client) => receive(client)],
  [70, (client) => end(client, client.random.some([...client.held.keys()], 3), slots)],
  [5, (client) => restart(client, client.random.chance(0.5))],
  [
    1,
    async ({ db, random, records }) => {
      const id = random.some([...records.created].slice(-20), 1)[0];
      if (id === undefined) return;
      await cancel(db, id);
      records.canceled.add(id);
    },
  ],
  [
    1,
    async ({ db, random }) => {
      await db.query("select jobforge_set_gate('all', '', true)");
      if (random.chance(0.5)) await db.query("select pg_sleep(0.01)");
      await db.query("select jobforge_set_gate('all', '', false)");
    },
  ],
  [
    1,
    async ({ db }) => {
      await setLimit(db, "type", "a", { max: 2 });
      await removeLimit(db, "type", "a");
    },
  ],
];

const lots = actions.flatMap(([weight, action]) => Array<typeof action>(weight).fill(action));

async function act(client: Client): Promise<void> {
  try {
    await client.random.pick(lots)(client);
  } catch (error) {
    const { code, message } = error as KernelError;
    await client.db.query("rollback");
    if (code !== "JF005") client.records.objections.push(`${client.name}: ${code} ${message}`);
  }
}

/** Ends everything that is left, as if hours had passed. */
async function calmDown(db: TestDatabase, clients: readonly Client[], records: Records): Promise<void> {
  await db.query("select jobforge_set_gate('all', '', false)");
  await db.query("select jobforge_remove_limit(scope, key) from jobforge.limits");
  for (const client of clients) await restart(client, true);
  await db.travel("2 hours");
  for (let round = 0; round < 20; round++) {
    await maintain(db);
    for (const { id, attempts } of await claim(db, "last", { limit: 1000 })) {
      records.started("last", id, attempts);
      await settle(db, [{ id, attempt: attempts, status: "succeeded" }], { worker: "last" });
      const run = records.runs.get(`${id}/${attempts}`);
      if (run !== undefined) run.end = "succeeded";
    }
  }
}

/** Returns what differs between the records and the database. */
async function audit(db: TestDatabase, records: Records): Promise<string[]> {
  const jobs = await db.query<{
    id: string;
    reason: string;
    uncounted: number;
    released: number;
    rooms: number;
  }>(
    `select j.id, min(j.reason) as reason, min(j.uncounted) as uncounted, count(*)::int as rooms,
       (select count(*)::int from jobforge_job_attempts a where a.job_id = j.id and a.status = 'released') as released
     from jobforge_jobs j group by j.id`,
  );
  const attempts = await db.query<{ name: string; job: string; status: string; handed: boolean }>(
    "select job_id || '/' || attempt_no as name, job_id as job, status, handed from jobforge_job_attempts",
  );
  const found = new Map(jobs.map((job) => [job.id, job]));
  const complaints = [...records.objections];
  for (const id of records.created) if (!found.has(id)) complaints.push(`${id} is missing`);
  for (const id of records.rolledBack) if (found.has(id)) complaints.push(`${id} was rolled back`);
  for (const { id, reason, uncounted, released, rooms } of jobs) {
    if (rooms > 1) complaints.push(`${id} is in ${rooms} rooms`);
    // A job whose process is killed three times in a row has crashed.
    if (!["done", "crashed"].includes(reason) && !records.canceled.has(id))
      complaints.push(`${id} is ${reason}`);
    if (reason === "done" && uncounted !== released)
      complaints.push(`${id} has ${uncounted} uncounted attempts and ${released} that were released`);
  }
  for (const { name, job, status, handed } of attempts) {
    const run = records.runs.get(name);
    if (records.canceled.has(job) && (status === "canceled" || status === run?.end)) continue;
    if (run === undefined && !(handed && status === "released"))
      complaints.push(`${name} is ${status}, and never started`);
    if (run !== undefined && run.end !== status)
      complaints.push(`${name} ended as ${run.end}, and is ${status}`);
  }
  const shown = new Set(attempts.map(({ name }) => name));
  for (const name of records.runs.keys()) if (!shown.has(name)) complaints.push(`${name} is not shown`);
  return complaints;
}

test("hand-offs from many connections start each attempt once, and lose none", {
  timeout: seconds * 2000 + 120_000,
}, async ({ db }) => {
  const seed = seedOfRun();
  onTestFailed(() => console.error(`JOBFORGE_PROOF_SEED=${seed} repeats the same choices`));
  const records = new Records();
  const clients: Client[] = [];
  for (const [n, connection] of (await connections(db, 6)).entries())
    clients.push({
      db: connection,
      name: `w${n}`,
      random: randomFrom(seed + n),
      records,
      others: clients,
      instance: 0,
      held: new Map(),
      inbox: [],
    });
  const until = Date.now() + seconds * 1000;
  await Promise.all(
    clients.map(async (client) => {
      for (let done = 0; seconds > 0 ? Date.now() < until : done < 100; done++) await act(client);
    }),
  );
  await calmDown(db, clients, records);
  expect(await audit(db, records)).toEqual([]);
  // Most jobs find no free slot, or come while something is ready.
  expect(records.handedOver).toBeGreaterThan(5);
  expect(await db.value("select count(*)::int from jobforge.live_rows")).toBe(0);
  expect(
    await db.value("select deadlocks::int from pg_stat_database where datname = current_database()"),
  ).toBe(0);
});
