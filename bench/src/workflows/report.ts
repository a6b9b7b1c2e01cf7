/** The results of the benchmark of workflows, for a terminal, for programs, and as a section of docs/benchmarks.md. */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Machine } from "../driver/machine.ts";
import { machineText, replaceBetween, table } from "../report/markdown.ts";
import { formatTable, listItem, number } from "../table.ts";
import { type Figures, groups, type Row } from "./cells.ts";

const page = fileURLToPath(new URL("../../../docs/benchmarks.md", import.meta.url));
const begin = "<!-- workflows: written by `npm run bench:workflows -- --write` -->";
const end = "<!-- end of workflows -->";

export interface Report {
  readonly rows: readonly Row[];
  readonly command: string;
  readonly startedAt: string;
  readonly seconds: number;
  readonly rounds: number;
  readonly machine: Machine;
  /** Its version, and the settings that decide what a commit costs. */
  readonly postgres: string;
  readonly durability: string;
}

const head = ["steps/s", "±", "server µs/step", "jobs/s", "±", "server µs/job", "÷", "target", "met"];

export function textOf({ rows }: Report): string {
  return `\n${formatTable(
    ["", ...head],
    Object.entries(groups).flatMap(([group, title]) => [
      [title],
      ...rows.filter((row) => row.group === group).map((row) => [`  ${row.name}`, ...cellsOf(row)]),
    ]),
  )}`;
}

export function jsonOf({ rows, ...facts }: Report): object {
  return { ...facts, items: rows };
}

export function markdownOf(report: Report): string {
  const { rows, rounds } = report;
  return [
    originOf(report),
    ...Object.entries(groups).flatMap(([group, title]) => [
      `### ${title}`,
      table(
        ["", ...head],
        rows.filter((row) => row.group === group).map((row) => [row.name, ...cellsOf(row)]),
      ),
    ]),
    `Medians of ${rounds} rounds (${rounds * 3} in the first table).`,
  ].join("\n\n");
}

/** Writes the results into a page, by default docs/benchmarks.md. Returns its path. */
export function writeReport(report: Report, path = page): string {
  writeFileSync(path, replaceBetween(readFileSync(path, "utf8"), begin, end, markdownOf(report)));
  return path;
}

function originOf({ command, startedAt, seconds, rounds, machine, postgres, durability }: Report): string {
  return [
    `\`${command}\``,
    `${startedAt.slice(0, 10)}, ${Math.round(seconds / 60)} minutes, ${rounds} rounds`,
    machineText(machine),
    `Postgres ${postgres} (${durability})`,
  ]
    .map(listItem)
    .join("\n");
}

function cellsOf({ steps, jobs, ratio, target }: Row): readonly string[] {
  return [
    ...figureCells(steps),
    ...figureCells(jobs),
    ratio.toFixed(2),
    target === undefined ? "" : `≥ ${target.toFixed(2)}`,
    target === undefined ? "" : ratio >= target ? "yes" : "no",
  ];
}

function figureCells({ perSecond, spread, microsPerStep }: Figures): readonly string[] {
  return [
    number(perSecond),
    `${Math.round(spread * 100)} %`,
    microsPerStep === undefined ? "" : number(microsPerStep),
  ];
}
