/** The charts of docs/benchmarks.md. A chart without any measured value is left out. */
import type { CellResults, RunResults } from "../driver/run.ts";
import { backlogShares, processCounts } from "../workloads/burn-down.ts";
import { figureOf } from "./statistics.ts";
import { barChart, lineChart, type Series } from "./svg.ts";

export interface Chart {
  readonly file: string;
  readonly title: string;
  readonly svg: string;
}

export function chartsOf(results: RunResults): Chart[] {
  return [
    bars(results, "burn-down-1", "burn-down.svg", "Burn-down of jobs that do nothing, one process"),
    bars(results, "enqueue-bulk", "enqueue-bulk.svg", "Enqueue in bulk"),
    bars(results, "wake-up", "wake-up.svg", "Idle wake-up, median: shorter is better"),
    lines(results, {
      file: "scaling.svg",
      title: "Burn-down by worker processes",
      across: "worker processes",
      steps: processCounts.map((count) => ({ name: String(count), cell: `burn-down-${count}` })),
    }),
    lines(results, {
      file: "backlog.svg",
      title: "Burn-down by backlog",
      across: "jobs waiting",
      steps: backlogShares.map((share) => ({
        name: (share * 1_000_000).toLocaleString("en-US"),
        cell: `backlog-${share}`,
      })),
    }),
  ].filter((chart) => chart !== undefined);
}

function cellOf(results: RunResults, id: string): CellResults | undefined {
  return results.cells.find(({ cell }) => cell.id === id);
}

function bars(results: RunResults, id: string, file: string, title: string): Chart | undefined {
  const cell = cellOf(results, id);
  const [figure] = cell?.cell.figures ?? [];
  if (cell === undefined || figure === undefined) return undefined;
  const measured = cell.results.flatMap((result) => {
    const value = figureOf(result, figure.key)?.median;
    // With default settings, some peers are too slow to be shown on the same scale.
    return value === undefined || result.contestant.endsWith(", defaults")
      ? []
      : [{ name: result.contestant, value }];
  });
  measured.sort((a, b) => (figure.better === "higher" ? b.value - a.value : a.value - b.value));
  return measured.length === 0
    ? undefined
    : { file, title, svg: barChart({ title, unit: figure.unit, bars: measured }) };
}

interface Lines {
  readonly file: string;
  readonly title: string;
  readonly across: string;
  readonly steps: readonly { readonly name: string; readonly cell: string }[];
}

/** A line for each contestant that was measured at two or more steps, including the last. */
function lines(results: RunResults, { file, title, across, steps }: Lines): Chart | undefined {
  const cells = steps.map(({ cell }) => cellOf(results, cell));
  const names = new Set(cells.flatMap((cell) => cell?.results.map(({ contestant }) => contestant) ?? []));
  const series: Series[] = [...names].flatMap((name) => {
    const values = cells.map(
      (cell) =>
        figureOf(
          cell?.results.find(({ contestant }) => contestant === name),
          "rate",
        )?.median,
    );
    return values.filter((value) => value !== undefined).length > 1 && values.at(-1) !== undefined
      ? [{ name, values }]
      : [];
  });
  if (series.length === 0) return undefined;
  const chart = { title, unit: "jobs a second", across, steps: steps.map(({ name }) => name), series };
  return { file, title, svg: lineChart(chart) };
}
