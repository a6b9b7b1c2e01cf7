/** The targets, as ratios within one run, and whether a run meets them. */
import type { RunResults } from "../driver/run.ts";
import { figureOf } from "./statistics.ts";

export interface Target {
  readonly text: string;
  readonly wanted: number;
  readonly better: "higher" | "lower";
  measure(median: MedianOf): number | undefined;
}

export interface Judged {
  readonly text: string;
  readonly wanted: number;
  readonly better: "higher" | "lower";
  readonly measured?: number;
  /** Undefined if this run did not measure it. */
  readonly met?: boolean;
}

/** The median of a contestant's figure in a cell. */
type MedianOf = (cell: string, contestant: string, figure?: string) => number | undefined;

function ratio(above: number | undefined, below: number | undefined): number | undefined {
  return above === undefined || below === undefined || below === 0 ? undefined : above / below;
}

function burnDown(peer: string, wanted: number): Target {
  return {
    text: `burn-down at least ${wanted}× ${peer}`,
    wanted,
    better: "higher",
    measure: (median) => ratio(median("burn-down-1", "jobforge"), median("burn-down-1", peer)),
  };
}

function keeps(text: string, cell: string, clean: string): Target {
  return {
    text: `${text} at least 0.8 of the clean rate`,
    wanted: 0.8,
    better: "higher",
    measure: (median) => ratio(median(cell, "jobforge"), median(clean, "jobforge")),
  };
}

const bulkPeers = [
  "graphile-worker",
  "pg-boss",
  "bullmq on redis",
  "bullmq on postgres",
  "river",
  "procrastinate",
];

export const targets: readonly Target[] = [
  burnDown("graphile-worker", 3),
  burnDown("bullmq on redis", 3),
  burnDown("pg-boss", 8),
  burnDown("river", 1),
  {
    text: "bulk enqueue at least 1.5× the best peer",
    wanted: 1.5,
    better: "higher",
    measure: (median) => {
      const rates = bulkPeers.flatMap((peer) => median("enqueue-bulk", peer) ?? []);
      return rates.length === 0 ? undefined : ratio(median("enqueue-bulk", "jobforge"), Math.max(...rates));
    },
  },
  {
    text: "idle wake-up at most 0.5× graphile-worker",
    wanted: 0.5,
    better: "lower",
    measure: (median) =>
      ratio(median("wake-up", "jobforge", "p50"), median("wake-up", "graphile-worker", "p50")),
  },
  keeps("a burst before vacuum and analyze keeps", "burst", "burn-down-1"),
  keeps("a transaction left open keeps", "pinned", "unpinned"),
  keeps("1,000,000 finished jobs keep", "finished", "burn-down-1"),
  keeps("1,000,000 scheduled jobs keep", "scheduled", "burn-down-1"),
  {
    text: "while one tenant floods the queue, others wait at most 2× as long (p95)",
    wanted: 2,
    better: "lower",
    measure: (median) => median("flood", "jobforge", "times"),
  },
];

export function judge(results: RunResults): Judged[] {
  const median: MedianOf = (id, contestant, figure = "rate") => {
    const cell = results.cells.find((each) => each.cell.id === id);
    return figureOf(
      cell?.results.find((each) => each.contestant === contestant),
      figure,
    )?.median;
  };
  return targets.map(({ text, wanted, better, measure }) => {
    const measured = measure(median);
    if (measured === undefined) return { text, wanted, better };
    return {
      text,
      wanted,
      better,
      measured,
      met: better === "higher" ? measured >= wanted : measured <= wanted,
    };
  });
}
