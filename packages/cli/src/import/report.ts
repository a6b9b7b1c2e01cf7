/** Counts what an import does, or would do, and shows it by type. */
import type { Output } from "../output/output.ts";
import type { Column } from "../output/table.ts";
import { plain } from "../output/terminal.ts";
import { count } from "../output/values.ts";
import type { LeftAlone, SourceJob, SourceName, WaitingState } from "./source.ts";

/** What happens to the jobs and cron entries of one type. */
export interface TypeCounts {
  /** Its name in the source, and its name here. */
  readonly from: string;
  readonly type: string;
  /** Waiting jobs that are imported, or were imported before. */
  waiting: number;
  delayed: number;
  retrying: number;
  schedules: number;
  /** How many of these an earlier import has enqueued. */
  existing: number;
  /** Jobs that the source keeps because they run or have failed for good. */
  running: number;
  failed: number;
  /** Jobs and cron entries that cannot be imported. */
  refused: number;
}

/** Jobs or cron entries that stay in the source for the same reason. */
export interface Refused {
  readonly type: string;
  readonly reason: string;
  count: number;
  /** The ids of the first ones in the source. */
  readonly ids: string[];
}

/** The ids that are shown for each reason. */
const shownIds = 20;

export class Report {
  readonly #types = new Map<string, TypeCounts>();
  readonly #refused = new Map<string, Refused>();
  readonly #typeOf: (name: string) => string;
  #serial = 0;
  #capped = 0;

  constructor(typeOf: (name: string) => string) {
    this.#typeOf = typeOf;
  }

  job(job: SourceJob, outcome: "created" | "existing"): void {
    const counts = this.#of(job.name);
    counts[job.state satisfies WaitingState] += 1;
    if (outcome === "existing") counts.existing += 1;
    if (job.concurrencyKey !== undefined) this.#serial += 1;
    if (Math.abs(job.priority) > usualPriority) this.#capped += 1;
  }

  schedule(name: string, outcome: "created" | "existing"): void {
    const counts = this.#of(name);
    counts.schedules += 1;
    if (outcome === "existing") counts.existing += 1;
  }

  refuse(name: string, id: string, reason: string): void {
    this.#of(name).refused += 1;
    const key = JSON.stringify([name, reason]);
    const found = this.#refused.get(key) ?? { type: name, reason, count: 0, ids: [] };
    this.#refused.set(key, found);
    found.count += 1;
    if (found.ids.length < shownIds) found.ids.push(id);
  }

  leaveAlone(left: readonly LeftAlone[]): void {
    for (const { name, running, failed } of left) {
      if (running === 0 && failed === 0) continue;
      const counts = this.#of(name);
      counts.running = running;
      counts.failed = failed;
    }
  }

  print(output: Output, { source, dryRun }: { readonly source: SourceName; readonly dryRun: boolean }): void {
    const types = [...this.#types.values()].toSorted((a, b) => (a.from < b.from ? -1 : 1));
    const refused = [...this.#refused.values()];
    const imported = types.reduce((sum, each) => sum + jobsOf(each) + each.schedules - each.existing, 0);
    const notes = this.#notes();
    const summary = summaryOf(types, dryRun);
    output.result({ source, dryRun, imported, types, refused, notes }, () =>
      types.length === 0
        ? `There is nothing to import from ${source}.\n`
        : [
            output.table(types, columns),
            ...refused.map(lineOf),
            ...notes.map((note) => `${note}\n`),
            summary,
          ].join(""),
    );
  }

  get hasRefusals(): boolean {
    return this.#refused.size > 0;
  }

  #of(name: string): TypeCounts {
    const found = this.#types.get(name) ?? {
      ...{
        from: name,
        type: this.#typeOf(name),
        waiting: 0,
        delayed: 0,
        retrying: 0,
        schedules: 0,
        existing: 0,
      },
      ...{ running: 0, failed: 0, refused: 0 },
    };
    this.#types.set(name, found);
    return found;
  }

  /** What differs from the source, and is not an error. */
  #notes(): string[] {
    const serial =
      `${count(this.#serial, "job")} got a concurrency key. For one at a time, as in the source: ` +
      "jobforge limits set --key '*' --max-running 1";
    const capped =
      `${count(this.#capped, "job")} had a priority beyond ${usualPriority}. ` +
      `It counts as ${usualPriority}, or less than that as -${usualPriority}, unless the policy of the type allows more.`;
    return [...(this.#serial > 0 ? [serial] : []), ...(this.#capped > 0 ? [capped] : [])];
  }
}

/** The highest priority that the default policy lets a job have, and the opposite of the lowest. */
const usualPriority = 100;

const columns: readonly Column<TypeCounts>[] = [
  { title: "from", value: ({ from }) => from, shrinks: true },
  { title: "type", value: ({ type }) => type, shrinks: true },
  ...(["waiting", "delayed", "retrying", "schedules", "existing"] as const).map(countColumn),
  { ...countColumn("refused"), tone: ({ refused }) => (refused > 0 ? "red" : undefined) },
  ...(["running", "failed"] as const).map(countColumn),
];

type CountName = Exclude<keyof TypeCounts, "from" | "type">;

function countColumn(title: CountName): Column<TypeCounts> {
  return { title, value: (counts) => counts[title], align: "right" };
}

function jobsOf({ waiting, delayed, retrying }: TypeCounts): number {
  return waiting + delayed + retrying;
}

function lineOf({ type, reason, count: jobs, ids }: Refused): string {
  const shown = `${ids.slice(0, 3).join(", ")}${jobs > 3 ? ", …" : ""}`;
  return `${plain(`Not imported: ${jobs} of ${type}, because ${reason} (${shown})`)}\n`;
}

function summaryOf(types: readonly TypeCounts[], dryRun: boolean): string {
  const sum = (value: (counts: TypeCounts) => number): number =>
    types.reduce((total, each) => total + value(each), 0);
  const existing = sum((each) => each.existing);
  const jobs = count(sum(jobsOf), "job");
  const schedules = count(
    sum((each) => each.schedules),
    "schedule",
  );
  const again = existing === 0 ? "" : `, ${existing} of them by an earlier import`;
  return dryRun
    ? `Dry run: ${jobs} and ${schedules} would be imported. Nothing was changed.\n`
    : `${jobs} and ${schedules} imported${again}.\n`;
}
