/** The cells of the benchmark of workflows. Each measures steps and plain jobs in turns. */
import type pg from "pg";
import { median, spread, summary } from "../report/statistics.ts";
import {
  type Context,
  connect,
  connectAll,
  createOf,
  drainOf,
  inTurns,
  prepared,
  type Settlers,
  type Timed,
} from "./measure.ts";
import { plainJobs, randomGraph, shapes, withoutWorkflows } from "./shapes.ts";

export const groups = {
  plain: "Jobs in no workflow, next to a kernel without workflows",
  create: "Creation, in one call, next to the enqueue of 10,000 jobs in one call",
  run: "Graphs that run to their end, next to as many plain jobs",
} as const;

/** The medians of one kind of work. */
export interface Figures {
  readonly perSecond: number;
  /** Half the difference between the slowest and the fastest round, as a share of the median. */
  readonly spread: number;
  /** CPU time of all server processes. */
  readonly microsPerStep: number | undefined;
}

export interface Row {
  readonly group: keyof typeof groups;
  readonly name: string;
  readonly steps: Figures;
  readonly jobs: Figures;
  /** The rate of steps divided by that of jobs. */
  readonly ratio: number;
  readonly target: number | undefined;
}

/** `scale` is the share of the steps, such as 0.1 for a quick run. */
export async function measureAll(context: Context, scale: number): Promise<readonly Row[]> {
  const size = (steps: number): number => Math.ceil(steps * scale);
  return [
    ...(await plainCells(context, size)),
    ...(await createCells(context, size)),
    ...(await runCells(context, size)),
  ];
}

type Size = (steps: number) => number;

/** Jobs in no workflow, with what each call does for workflows and without it. */
async function plainCells(context: Context, size: Size): Promise<Row[]> {
  await using full = await prepared(context);
  await using without = await prepared(context);
  const client = await connect(without.url);
  await removeWorkflows(client);
  await client.end();
  // The difference is small, so it takes more rounds.
  const often = { ...context, rounds: context.rounds * 3 };
  const rows: Row[] = [];
  for (const batch of [10, 100, 500]) {
    const name = `settle and claim, ${batch} a call`;
    const jobs = [plainJobs(size(batch === 10 ? 10_000 : 40_000))];
    await using ours = await connectAll(full.url, 1);
    await using others = await connectAll(without.url, 1);
    const rounds = await inTurns(often, name, [
      () => drainOf(context, ours, jobs, batch),
      () => drainOf(context, others, jobs, batch),
    ]);
    rows.push(rowOf("plain", name, rounds, 0.97));
  }
  return rows;
}

/** Takes away what claims and settles of jobs in no workflow do for workflows. */
export async function removeWorkflows(client: pg.Client): Promise<void> {
  for (const [name, text, without] of withoutWorkflows) {
    const { rows } = await client.query<{ definition: string }>(
      "select pg_get_functiondef(oid) as definition from pg_proc where oid = $1::regproc",
      [`jobforge.${name}`],
    );
    const { definition } = rows[0] ?? { definition: "" };
    if (definition.split(text).length !== 2) throw new Error(`jobforge.${name} has changed: "${text}"`);
    await client.query(definition.replace(text, () => without));
  }
}

async function createCells(context: Context, size: Size): Promise<Row[]> {
  await using database = await prepared(context);
  const cases: readonly (readonly [string, string, number, number])[] = [
    ["10,000 steps without needs", shapes.independent(size(10_000)), size(10_000), 0.7],
    ["a join of 10,000", shapes.join(size(10_000)), size(10_000), 0.64],
    ["a chain of 1,000", shapes.chains(1, size(1000)), size(1000), 0.83],
    ["50,000 steps in chains of 10", shapes.chains(size(5000), 10), size(5000) * 10, 0.79],
  ];
  const rows: Row[] = [];
  for (const [name, sql, steps, target] of cases) {
    await using session = await connectAll(database.url, 1);
    const rounds = await inTurns(context, `create ${name}`, [
      () => createOf(context, session, sql, steps),
      () => createOf(context, session, plainJobs(size(10_000)), size(10_000)),
    ]);
    rows.push(rowOf("create", name, rounds, target));
  }
  return rows;
}

const one: Settlers = { count: 1, batch: 100 };
const four: Settlers = { count: 4, batch: 100 };
const twenty: Settlers = { count: 20, batch: 50 };

async function runCells(context: Context, size: Size): Promise<Row[]> {
  await using database = await prepared(context);
  const joins = [shapes.join(size(10_000))];
  const chains = Array.from({ length: size(1000) }, () => shapes.chains(1, 10));
  const maps = [shapes.map(size(10_000))];
  const random = [randomGraph(size(10_000))];
  const cases: readonly (readonly [string, readonly string[], Settlers, number | undefined])[] = [
    ["a join of 10,000", joins, one, 0.71],
    ["a join of 10,000", joins, four, 0.66],
    ["a join of 10,000", joins, twenty, undefined],
    ["a map of 10,000 and its join", maps, one, 0.69],
    ["a map of 10,000 and its join", maps, four, 0.67],
    ["a map of a list of 10,000", [shapes.mapOfInput(size(10_000))], one, 0.69],
    ["1,000 chains of 10", chains, one, 0.54],
    ["1,000 chains of 10", chains, four, 0.55],
    ["1,000 chains of 10", chains, twenty, undefined],
    ["a random graph of 10,000", random, { count: 1, batch: 50 }, undefined],
    ["a random graph of 10,000", random, { count: 4, batch: 50 }, undefined],
  ];
  const rows: Row[] = [];
  for (const [what, starts, { count, batch }, target] of cases) {
    const name = `${what}, ${count} × ${batch}`;
    await using settlers = await connectAll(database.url, count);
    const rounds = await inTurns(context, name, [
      () => drainOf(context, settlers, starts, batch),
      () => drainOf(context, settlers, [plainJobs(size(10_000))], batch),
    ]);
    rows.push(rowOf("run", name, rounds, target));
  }
  return rows;
}

export function rowOf(
  group: Row["group"],
  name: string,
  [steps, jobs]: readonly [readonly Timed[], readonly Timed[]],
  target: number | undefined,
): Row {
  const [ours, plain] = [figuresOf(steps), figuresOf(jobs)];
  return { group, name, steps: ours, jobs: plain, ratio: ours.perSecond / plain.perSecond, target };
}

function figuresOf(rounds: readonly Timed[]): Figures {
  const rates = summary(rounds.map(({ steps, seconds }) => steps / seconds));
  const micros = rounds.flatMap(({ steps, cpu }) => (cpu === undefined ? [] : [(cpu / steps) * 1e6]));
  return {
    perSecond: rates.median,
    spread: spread(rates) / 2,
    microsPerStep: micros.length === 0 ? undefined : median(micros),
  };
}
