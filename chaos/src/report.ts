/** What a run has shown, for a terminal and for the documentation. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { formatTable, number } from "../../bench/src/table.ts";
import type { Figures } from "./figures.ts";
import type { RunResult } from "./run.ts";

const PAGE = join(import.meta.dirname, "..", "..", "docs", "reliability.md");
const BEGIN = "<!-- figures: begin -->";
const END = "<!-- figures: end -->";

const seconds = (ms: number): string => (Number.isFinite(ms) ? `${(ms / 1000).toFixed(1)} s` : "never");
const total = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);
const listed = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([name, count]) => `${number(count)} ${name}`)
    .join(", ");

function summary(figures: Figures): string[] {
  const { jobs, attempts } = figures;
  return [
    `${number(total(jobs))} jobs: ${listed(jobs)}`,
    `${number(total(attempts))} attempts: ${listed(attempts)}`,
    `${number(figures.executions)} executions, ${number(figures.outlived)} of which went on after their lease was lost; ${number(figures.staleAnswers)} were told that they are stale`,
    `${number(figures.forgedEnds)} forged ends of lost runs, all refused`,
    `${number(figures.scheduleRuns)} runs of schedules, ${number(figures.serialJobs)} jobs with serial keys, ${number(figures.keyed)} keys sent until they were answered, ${number(figures.canceled)} cancels answered, ${number(figures.effects)} effects committed with their job`,
    `${number(figures.samples)} samples of all limits while it ran`,
    `${number(figures.processes)} processes; ${number(figures.droppedNotifications)} notifications swallowed; at most ${Math.round(figures.cpu * 100)} % of a core taken by a process while nothing came through`,
    `Errors in the server's log by SQLSTATE: ${listed(figures.errorsLogged) || "none"}`,
  ];
}

export function printResult(result: RunResult, command: string): void {
  const { figures, violations, histories, checks } = result;
  const rows = figures.faults.map(({ name, times, medianMs, mostMs }) => [
    name,
    String(times),
    seconds(medianMs),
    seconds(mostMs),
  ]);
  console.log(`\n${formatTable(["fault", "times", "flows after, median", "at most"], rows)}\n`);
  for (const line of summary(figures)) console.log(line);
  const broken = new Map<string, number>();
  for (const { check } of violations) broken.set(check, (broken.get(check) ?? 0) + 1);
  console.log("");
  for (const { name, promise } of checks) {
    console.log(`${broken.has(name) ? "✗" : "✓"} ${name}: ${promise}`);
  }
  for (const { check, what, job } of violations) {
    console.log(`\n✗ ${check}: ${job === undefined ? "" : `job ${job} `}${what}`);
  }
  for (const history of histories) console.log(`\n${history}`);
  console.log(
    violations.length === 0
      ? `\nEverything held. Seed ${result.seed}.`
      : `\n${violations.length} violations. The same faults again: ${command}`,
  );
}

/** Puts the figures where the page about reliability has a place for them. */
export function writeFigures(result: RunResult, command: string): void {
  const page = readFileSync(PAGE, "utf8");
  const [before, rest = ""] = page.split(BEGIN);
  const [, after] = rest.split(END);
  if (after === undefined) throw new Error(`${PAGE} has no place for the figures`);
  writeFileSync(PAGE, `${before}${BEGIN}\n\n${markdown(result, command)}\n\n${END}${after}`);
}

function markdown({ figures, violations }: RunResult, command: string): string {
  const rows = figures.faults.map(({ name, times, medianMs, mostMs }) => [
    `\`${name}\``,
    String(times),
    seconds(medianMs),
    seconds(mostMs),
  ]);
  return [
    `\`${command}\`: ${number(figures.minutes)} minutes, ${violations.length} violations.`,
    "",
    ...summary(figures).map((line) => `- ${line}`),
    "",
    ...markdownTable(["Fault", "Times", "Work flows again after, median", "At most"], rows),
  ].join("\n");
}

/** Lines of a table whose columns are as wide as their widest cell, as the formatter wants them. */
function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((_, n) => Math.max(...[head, ...rows].map((row) => row[n]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, n) => cell.padEnd(widths[n] ?? 0)).join(" | ")} |`;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)];
}
