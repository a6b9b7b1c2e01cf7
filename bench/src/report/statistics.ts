/** Medians, spread and ratios of the figures of several rounds. */
import { type CounterName, type Counters, counterNames } from "../driver/costs.ts";
import type { CellResults, Result } from "../driver/run.ts";
import type { Figure } from "../workloads/workload.ts";

export interface Summary {
  readonly median: number;
  readonly low: number;
  readonly high: number;
  readonly values: readonly number[];
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [upper = Number.NaN, lower = Number.NaN] = [sorted[middle], sorted[middle - 1]];
  return sorted.length % 2 === 1 ? upper : (lower + upper) / 2;
}

export function summary(values: readonly number[]): Summary {
  return { median: median(values), low: Math.min(...values), high: Math.max(...values), values };
}

/** The difference between the highest and the lowest round, as a share of the median. */
export function spread({ median: middle, low, high }: Summary): number {
  return middle === 0 ? 0 : (high - low) / middle;
}

export function figureOf(result: Result | undefined, key: string): Summary | undefined {
  const values = (result?.outcomes ?? []).flatMap(({ figures }) => figures[key] ?? []);
  return values.length === 0 ? undefined : summary(values);
}

/** JobForge's median divided by the peer's. */
export function ratioOf(cell: CellResults, peer: string, { key }: Figure): number | undefined {
  const [ours, theirs] = ["jobforge", peer].map((name) =>
    figureOf(
      cell.results.find(({ contestant }) => contestant === name),
      key,
    ),
  );
  return ours === undefined || theirs === undefined || theirs.median === 0
    ? undefined
    : ours.median / theirs.median;
}

/** The median of each cost, computed separately. */
export function costOf({ outcomes }: Result): Counters {
  const costs: Partial<Record<CounterName, number>> = {};
  for (const name of counterNames) {
    const values = outcomes.flatMap(({ cost }) => cost?.[name] ?? []);
    if (values.length > 0) costs[name] = median(values);
  }
  return costs;
}
