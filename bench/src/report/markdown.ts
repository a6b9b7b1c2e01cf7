/** The results as a section of docs/benchmarks.md, between two marker comments. */
import type { Machine } from "../driver/machine.ts";
import type { RunResults } from "../driver/run.ts";
import { listItem } from "../table.ts";
import type { Chart } from "./charts.ts";
import { defaultsSection } from "./defaults.ts";
import { judge } from "./targets.ts";
import { gridOf } from "./text.ts";

const begin = "<!-- results: written by `npm run bench -- --write` -->";
const end = "<!-- end of results -->";

/** Replaces the results on a page. Throws an error if the page does not contain both markers. */
export function replaceResults(page: string, results: string): string {
  return replaceBetween(page, begin, end, results);
}

/** Replaces what is between two lines of a page. Throws an error if the page does not contain both. */
export function replaceBetween(page: string, first: string, last: string, text: string): string {
  const [from, to] = [page.indexOf(first), page.indexOf(last)];
  if (from < 0 || to < from) throw new Error(`the page must contain the lines "${first}" and "${last}"`);
  return `${page.slice(0, from + first.length)}\n\n${text.trim()}\n\n${page.slice(to)}`;
}

export function markdownReport(results: RunResults, charts: readonly Chart[], command: string): string {
  return [
    origin(results, command),
    ...defaultsSection(results),
    "### Targets",
    targetTable(results),
    ...(charts.length > 0
      ? ["### Charts", ...charts.map(({ file, title }) => `![${title}](benchmarks/${file})`)]
      : []),
    "### Every cell",
    [
      "Values are medians of all rounds. ± is half the difference between the slowest and the fastest round, as a share of",
      "the median. `jobforge ÷` is JobForge's median divided by the peer's.",
    ].join("\n"),
    ...results.cells.map((cell) => {
      const { head, rows, notes } = gridOf(cell);
      const list = notes.map((note) => listItem(oneLine(note)));
      return [
        `#### ${cell.cell.title}`,
        table(head, rows),
        ...(list.length > 0 ? [list.join("\n")] : []),
      ].join("\n\n");
    }),
    "### Contestants and their settings",
    table(
      ["", "version", "settings", "keeps of finished jobs"],
      results.contestants.map(({ name, prepared }) => [
        name,
        prepared.version,
        prepared.settings,
        prepared.keeps,
      ]),
    ),
    results.missing.length === 0
      ? "All peers took part."
      : results.missing
          .map(({ name, reason }) => listItem(`**${name}** did not take part: ${oneLine(reason)}`))
          .join("\n"),
  ].join("\n\n");
}

function origin(
  { machine, node, postgres, redis, durability, ...results }: RunResults,
  command: string,
): string {
  const facts = [
    `\`${command}\``,
    `${results.startedAt.slice(0, 10)}, ${Math.round(results.seconds / 60)} minutes, ${results.rounds} rounds`,
    machineText(machine),
    `Node ${node}`,
    `Postgres ${postgres} (${durability})`,
    ...(redis === undefined ? [] : [`Redis ${redis} (appendonly, fsync every second)`]),
  ];
  return facts.map(listItem).join("\n");
}

export function machineText({ cores, cpu, memoryGB, system }: Machine): string {
  return `${cores} × ${cpu}, ${memoryGB} GB, ${system}`;
}

function targetTable(results: RunResults): string {
  const rows = judge(results).map(({ text, wanted, better, measured, met }) => [
    text,
    `${better === "higher" ? "≥" : "≤"} ${wanted}`,
    measured === undefined ? "not measured" : measured.toFixed(2),
    met === undefined ? "" : met ? "yes" : "no",
  ]);
  return table(["Target", "wanted", "measured", "met"], rows);
}

/** Formats a table. Rows that are shorter than the head are filled with empty cells. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(cellText).join(" | ")} |`;
  const filled = rows.map((row) => head.map((_, n) => row[n] ?? ""));
  return [line(head), `| ${head.map(() => "---").join(" | ")} |`, ...filled.map(line)].join("\n");
}

function cellText(text: string): string {
  return oneLine(text).replaceAll("|", "\\|");
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim().slice(0, 400);
}
