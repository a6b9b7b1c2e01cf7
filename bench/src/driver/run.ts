/** Runs all workloads with all contestants, in several rounds and in alternating order. */
import { execFileSync } from "node:child_process";
import type { BenchServer } from "../server.ts";
import type { Cell, Field, Outcome, Size, Workload } from "../workloads/workload.ts";
import { Arena, type Contestant } from "./arena.ts";
import { nodeForPeers } from "./install.ts";
import { type Machine, machine } from "./machine.ts";
import type { Peer, Progress } from "./peers.ts";
import { Unsupported } from "./protocol.ts";
import { type RedisServer, startRedis } from "./redis.ts";

export interface RunOptions {
  readonly peers: readonly Peer[];
  readonly workloads: readonly Workload[];
  readonly rounds: number;
  readonly size: Size;
  /** Fewer contestants take part, and none with its default settings, except JobForge. */
  readonly quick: boolean;
  readonly onProgress: Progress;
}

export interface Missing {
  readonly name: string;
  readonly reason: string;
}

/** The results of one contestant in one cell: the outcome of each round, or the reason why there is none. */
export interface Result {
  readonly contestant: string;
  readonly outcomes: readonly Outcome[];
  readonly unsupported?: string;
  readonly failed?: string;
}

export interface CellResults {
  readonly cell: Cell;
  readonly results: readonly Result[];
}

export interface RunResults {
  readonly machine: Machine;
  /** The version of Node that runs the contestants on Node. */
  readonly node: string;
  readonly postgres: string;
  readonly durability: string;
  readonly redis?: string;
  readonly startedAt: string;
  readonly seconds: number;
  readonly rounds: number;
  readonly contestants: readonly Contestant[];
  readonly missing: readonly Missing[];
  readonly cells: readonly CellResults[];
}

/** The contestants that are shown in line charts. */
const main = new Set(["jobforge", "graphile-worker", "pg-boss", "bullmq on redis", "river"]);

export async function run(server: BenchServer, options: RunOptions): Promise<RunResults> {
  const startedAt = new Date();
  const missing: Missing[] = [];
  await using redis = await redisFor(options, missing);
  await using arena = await Arena.open(server, redis.server);
  const contestants = await gather(arena, options, missing);
  const cells: CellResults[] = [];
  for (const workload of options.workloads) {
    const field = contestants.filter(
      (contestant) =>
        contestant.peer.only?.includes(workload.id) !== false &&
        takesPart(contestant, options.quick && workload.quick ? workload.quick : workload.field),
    );
    cells.push(...(await play(arena, workload, field, options)));
    await arena.disperse();
  }
  return {
    machine: machine(),
    node: nodeVersion(),
    postgres: await server.version(),
    durability: await server.durability(),
    ...(redis.server === undefined ? {} : { redis: redis.server.version }),
    startedAt: startedAt.toISOString(),
    seconds: Math.round((Date.now() - startedAt.getTime()) / 1000),
    rounds: options.rounds,
    contestants,
    missing,
    cells,
  };
}

/** Starts Redis only if a peer needs it. */
async function redisFor(
  { peers, onProgress }: RunOptions,
  missing: Missing[],
): Promise<{ readonly server?: RedisServer } & AsyncDisposable> {
  const nothing = { [Symbol.asyncDispose]: async () => undefined };
  const guests = peers.filter(({ store }) => store === "redis");
  if (guests.length === 0) return nothing;
  try {
    onProgress("starting Redis");
    const server = await startRedis();
    return { server, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
  } catch (error) {
    for (const { name } of guests) missing.push({ name, reason: reasonOf(error) });
    return nothing;
  }
}

/** Installs and prepares every peer. A peer that fails is added to `missing`, with the reason. */
async function gather(arena: Arena, options: RunOptions, missing: Missing[]): Promise<Contestant[]> {
  const contestants: Contestant[] = [];
  const gone = new Set(missing.map(({ name }) => name));
  for (const peer of options.peers.filter(({ name }) => !gone.has(name))) {
    try {
      options.onProgress(`preparing ${peer.name}`);
      const command = await peer.launch(options.onProgress);
      for (const settings of peer.settings) {
        if (settings === "best" || !options.quick) {
          contestants.push(await arena.prepare(peer, settings, command));
        }
      }
    } catch (error) {
      missing.push({ name: peer.name, reason: reasonOf(error) });
    }
  }
  return contestants;
}

function takesPart({ peer, settings }: Contestant, field: Field): boolean {
  switch (field) {
    case "all":
      return true;
    case "defaults":
      return peer.fullOnly !== true && settings === peer.settings.at(-1);
    case "jobforge":
      return peer.name === "jobforge";
    case "main":
      return settings === "best" && main.has(peer.name);
    case "best":
      return settings === "best" && peer.fullOnly !== true;
  }
}

/**
 * Runs all rounds of a workload. Every second round reverses the order, so that no contestant always has the same
 * place.
 */
async function play(
  arena: Arena,
  workload: Workload,
  field: readonly Contestant[],
  { rounds, size, onProgress }: RunOptions,
): Promise<CellResults[]> {
  const outcomes = new Map<string, Readonly<Record<string, Outcome>>[]>();
  const out = new Map<string, Pick<Result, "unsupported" | "failed">>();
  for (let round = 1; round <= rounds; round += 1) {
    for (const contestant of round % 2 === 1 ? field : field.toReversed()) {
      const { name } = contestant;
      if (out.has(name)) continue;
      onProgress(`${workload.id} · ${name} · round ${round} of ${rounds}`);
      try {
        const outcome = await measure(arena, workload, contestant, size);
        outcomes.set(name, [...(outcomes.get(name) ?? []), outcome]);
      } catch (error) {
        out.set(name, failureOf(error));
      }
    }
  }
  return workload.cells.map((cell) => ({
    cell,
    results: field.map(({ name }) => ({
      contestant: name,
      outcomes: (outcomes.get(name) ?? []).flatMap((each) => each[cell.id] ?? []),
      ...out.get(name),
    })),
  }));
}

/**
 * A separate function because of a compiler bug: a transpiled `await using` in a loop throws an earlier error again.
 */
async function measure(
  arena: Arena,
  workload: Workload,
  contestant: Contestant,
  size: Size,
): Promise<Readonly<Record<string, Outcome>>> {
  await using session = await arena.session(contestant, workload.crowd?.(size));
  return await workload.run(session, size);
}

/** A contestant that does not support a workload, or fails in it, does not stop the run. */
function failureOf(error: unknown): Pick<Result, "unsupported" | "failed"> {
  return error instanceof Unsupported ? { unsupported: error.message } : { failed: reasonOf(error) };
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function nodeVersion(): string {
  const node = nodeForPeers();
  return node === undefined
    ? process.version
    : execFileSync(node, ["--version"], { encoding: "utf8" }).trim();
}
