/** Times the creation of graphs and their run to the end, with the CPU time that the server takes for it. */
import { migrate } from "@jobforge/sql";
import pg from "pg";
import { cpuSeconds } from "../driver/cpu.ts";
import type { BenchDatabase, BenchServer } from "../server.ts";
import { loopInServer } from "./shapes.ts";

export interface Context {
  readonly server: BenchServer;
  /** The parent of all server processes, if they run on this machine. */
  readonly pid: number | undefined;
  readonly rounds: number;
  readonly onProgress: (message: string) => void;
}

export interface Timed {
  readonly steps: number;
  readonly seconds: number;
  /** CPU seconds of all server processes. */
  readonly cpu: number | undefined;
}

/** How many connections settle and claim at once, and how many jobs in a call. */
export interface Settlers {
  readonly count: number;
  readonly batch: number;
}

export interface Connections extends AsyncDisposable {
  readonly clients: readonly pg.Client[];
}

export const tenant = "11111111-1111-4111-8111-111111111111";

/** A database with the loop of the settlers. */
export async function prepared({ server }: Pick<Context, "server">): Promise<BenchDatabase> {
  const database = await server.createDatabase();
  await migrate({ database: database.url });
  const client = await connect(database.url);
  await client.query(loopInServer);
  await client.end();
  return database;
}

export async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client;
}

/** Measures two kinds of work in turns, so that a slow minute of the machine affects both. Round 0 is a warm-up. */
export async function inTurns(
  { rounds, onProgress }: Pick<Context, "rounds" | "onProgress">,
  name: string,
  both: readonly [() => Promise<Timed>, () => Promise<Timed>],
): Promise<readonly [readonly Timed[], readonly Timed[]]> {
  const found: readonly [Timed[], Timed[]] = [[], []];
  for (let round = 0; round <= rounds; round += 1) {
    onProgress(round === 0 ? `${name} · warm-up` : `${name} · round ${round} of ${rounds}`);
    for (const [index, measure] of both.entries()) {
      const timed = await measure();
      if (round > 0) found[index]?.push(timed);
    }
  }
  return found;
}

/** Connections that stay open for all rounds of a cell, so that the warm-up makes their plans. */
export async function connectAll(url: string, count: number): Promise<Connections> {
  const clients = await Promise.all(Array.from({ length: count }, () => connect(url)));
  const close = async (): Promise<void> => void (await Promise.all(clients.map((client) => client.end())));
  return { clients, [Symbol.asyncDispose]: close };
}

/** Times a call that creates `steps` steps or jobs, and rolls it back. */
export async function createOf(
  context: Pick<Context, "pid">,
  { clients: [client] }: Connections,
  sql: string,
  steps: number,
): Promise<Timed> {
  await client?.query("begin");
  const timed = await measured(context, async () => {
    await client?.query(sql, [tenant]);
    return steps;
  });
  await client?.query("rollback");
  return timed;
}

/** Starts graphs or jobs, and times how long all connections take to run them to their end. */
export async function drainOf(
  context: Pick<Context, "pid">,
  { clients }: Connections,
  starts: readonly string[],
  batch: number,
): Promise<Timed> {
  const [first] = clients;
  for (const sql of starts) await first?.query(sql, [tenant]);
  await first?.query("analyze jobforge.queue, jobforge.steps, jobforge.edges");
  return await measured(context, async () => {
    const done = await Promise.all(
      clients.map((client, n) =>
        client.query<{ p_done: string }>("call bench_drain($1, $2, 0)", [`bench-${n}`, batch]),
      ),
    );
    return done.reduce((sum, { rows }) => sum + Number(rows[0]?.p_done), 0);
  });
}

/** Times work that returns how many steps it did. */
async function measured({ pid }: Pick<Context, "pid">, work: () => Promise<number>): Promise<Timed> {
  const cpu = (): number | undefined => (pid === undefined ? undefined : cpuSeconds([pid]));
  const before = cpu();
  const started = performance.now();
  const steps = await work();
  const seconds = (performance.now() - started) / 1000;
  const after = cpu();
  return { steps, seconds, cpu: before === undefined || after === undefined ? undefined : after - before };
}
