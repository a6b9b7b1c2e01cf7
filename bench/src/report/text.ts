/** The report as text, for a terminal. */
import type { CounterName, Counters } from "../driver/costs.ts";
import type { CellResults, Result, RunResults } from "../driver/run.ts";
import { formatTable, number } from "../table.ts";
import type { Cell, Figure } from "../workloads/workload.ts";
import { costOf, figureOf, ratioOf, spread } from "./statistics.ts";
import { judge } from "./targets.ts";

export interface Grid {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** The contestants that are not in the table, with the reason. */
  readonly notes: readonly string[];
}

const costColumns: Readonly<Record<CounterName, string>> = {
  walBytes: "WAL B",
  commits: "commits",
  deadRows: "dead rows",
  tableBytes: "table B",
  indexBytes: "index B",
  serverCpuSeconds: "server µs",
  workerCpuSeconds: "worker µs",
};

/** A cell as a table: figures with their spread, ratios to JobForge, and costs. */
export function gridOf(cell: CellResults): Grid {
  const { figures, costsPer } = cell.cell;
  const head = [
    "",
    ...figures.flatMap(({ title, unit }) => [`${title}, ${unit}`, "±", "jobforge ÷"]),
    ...(costsPer === undefined ? [] : Object.values(costColumns).map((title) => `${title}/${costsPer}`)),
  ];
  const measured = cell.results.filter((result) => reasonOf(result) === undefined);
  return {
    head,
    rows: measured.map((result) => [
      result.contestant,
      ...figures.flatMap((figure) => figureCells(cell, result, figure)),
      ...costCells(cell.cell, costOf(result)),
    ]),
    notes: cell.results.flatMap((result) => {
      const reason = reasonOf(result);
      return reason === undefined ? [] : [`${result.contestant} ${reason}`];
    }),
  };
}

function reasonOf({ unsupported, failed }: Result): string | undefined {
  if (unsupported !== undefined) return `does not support this: ${unsupported}`;
  return failed === undefined ? undefined : `failed: ${failed}`;
}

function figureCells(cell: CellResults, result: Result, figure: Figure): readonly string[] {
  const found = figureOf(result, figure.key);
  if (found === undefined) return ["–", "", ""];
  const ratio = result.contestant === "jobforge" ? undefined : ratioOf(cell, result.contestant, figure);
  return [number(found.median), percent(spread(found)), ratio === undefined ? "" : `${ratio.toFixed(2)}×`];
}

function costCells({ costsPer }: Cell, cost: Counters): readonly string[] {
  if (costsPer === undefined) return [];
  return (Object.keys(costColumns) as CounterName[]).map((name) => {
    const value = cost[name];
    if (value === undefined) return "–";
    return number(name.endsWith("CpuSeconds") ? value * 1_000_000 : value);
  });
}

export function percent(share: number): string {
  return `${Math.round((share * 100) / 2)} %`;
}

export function textReport(results: RunResults): string {
  const tables = results.cells.map((cell) => {
    const { head, rows, notes } = gridOf(cell);
    return [cell.cell.title, "", formatTable(head, rows), ...notes].join("\n");
  });
  const missing = results.missing.map(({ name, reason }) => `${name} did not take part: ${reason}`);
  const fairness = results.contestants.map(
    ({ name, prepared }) => `${name} ${prepared.version}: ${prepared.settings}; keeps ${prepared.keeps}`,
  );
  const targets = judge(results).map(
    ({ text, measured, met }) =>
      `${met === undefined ? "?" : met ? "✓" : "✗"} ${text}: ${measured === undefined ? "not measured" : `${measured.toFixed(2)}×`}`,
  );
  return [
    ...tables,
    ["Targets", ...targets].join("\n"),
    ["Settings", ...fairness, `Postgres ${results.postgres}: ${results.durability}`].join("\n"),
    ...(missing.length > 0 ? [missing.join("\n")] : []),
    `${results.rounds} rounds in ${results.seconds} s on ${results.machine.cores} × ${results.machine.cpu}`,
  ].join("\n\n");
}
