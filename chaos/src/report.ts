/** Reports the result of a run, for a terminal and for the documentation. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { formatTable, listItem, number } from "../../bench/src/table.ts";
import type { Figures } from "./figures.ts";
import type { RunResult } from "./run.ts";

const page = join(import.meta.dirname, "..", "..", "docs", "reliability.md");
const begin = "<!-- figures: begin -->";
const end = "<!-- figures: end -->";

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
    `${number(figures.executions)} executions: ${number(figures.outlived)} continued after their lease was lost, ${number(figures.staleReplies)} reports got the reply stale`,
    `${number(figures.forgedEnds)} forged ends of lost runs, all refused`,
    `${number(figures.scheduleRuns)} runs of schedules, ${number(figures.serialJobs)} jobs with serial keys`,
    `${number(figures.keyed)} keys sent until they were acknowledged, ${number(figures.canceled)} acknowledged cancels, ${number(figures.effects)} effects committed with their job`,
    `${number(figures.samples)} samples of all limits during the run`,
    `${number(figures.processes)} processes, ${number(figures.droppedNotifications)} dropped notifications`,
    `At most ${Math.round(figures.cpu * 100)} % of a core used by a process while the database was unreachable`,
    `Errors in the server's log by SQLSTATE: ${listed(figures.errorsLogged) || "none"}`,
  ];
}

export function printResult(result: RunResult, command: string): void {
  const { figures, violations, histories, checks } = result;
  const rows = figures.faults.map(({ name, times, medianMs, maxMs }) => [
    name,
    String(times),
    seconds(medianMs),
    seconds(maxMs),
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
      ? `\nEvery promise was kept. Seed ${result.seed}.`
      : `\n${violations.length} violations. To repeat the same faults: ${command}`,
  );
}

/** Writes the figures into docs/reliability.md, between its two markers. */
export function writeFigures(result: RunResult, command: string): void {
  const [before, rest = ""] = readFileSync(page, "utf8").split(begin);
  const [, after] = rest.split(end);
  if (after === undefined) throw new Error(`${page} must contain "${begin}" and "${end}"`);
  writeFileSync(page, `${before}${begin}\n\n${markdown(result, command)}\n\n${end}${after}`);
}

function markdown({ figures, violations }: RunResult, command: string): string {
  const rows = figures.faults.map(({ name, times, medianMs, maxMs }) => [
    `\`${name}\``,
    String(times),
    seconds(medianMs),
    seconds(maxMs),
  ]);
  return [
    `\`${command}\`:\n${number(figures.minutes)} minutes, ${violations.length} violations.`,
    "",
    ...summary(figures).map(listItem),
    "",
    ...markdownTable(["Fault", "Times", "Work flows again after, median", "At most"], rows),
  ].join("\n");
}

/** The lines of a table. Columns are as wide as their widest cell, as the formatter expects. */
function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((_, n) => Math.max(...[head, ...rows].map((row) => row[n]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, n) => cell.padEnd(widths[n] ?? 0)).join(" | ")} |`;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)];
}
