/** `jobforge stats`: a summary in a few numbers. */
import type { Gate, TypeInfo, WorkerInfo } from "@jobforge/sdk-ts";
import type { Command } from "commander";
import { action, addCommand, type Cli, type CommonOptions, connected } from "../command.ts";
import { exitCodes } from "../failures.ts";
import type { Output } from "../output/output.ts";
import { ago, count, estimate, span } from "../output/values.ts";
import { typeColumns, withSpan } from "./types.ts";

interface StatsOptions extends CommonOptions {
  readonly span: number;
}

const counted = ["due", "scheduled", "running", "succeeded", "failed", "dead", "canceled"] as const;

type Totals = Record<(typeof counted)[number], number>;

export function statsCommand(program: Command, cli: Cli): void {
  withSpan(
    addCommand(program, "stats", {
      summary: "Show how many jobs are waiting, running and recently finished",
      examples: ["jobforge stats", "jobforge stats --span 1d --json"],
    }),
  ).action(action(cli, (options: StatsOptions) => stats(cli, options)));
}

async function stats(cli: Cli, options: StatsOptions): Promise<number> {
  return await connected(cli, options, async ({ forge }, output) => {
    const [types, workers, gates] = [
      await forge.types.list({ spanMs: options.span }),
      await forge.workers.list(),
      await forge.gates.list(),
    ];
    const totals = totalsOf(types);
    const oldestDueAt = types
      .flatMap((type) => type.oldestDueAt ?? [])
      .reduce<Date | undefined>(
        (oldest, at) => (oldest === undefined || at < oldest ? at : oldest),
        undefined,
      );
    const alive = workers.filter((worker) => worker.status === "alive");
    const exact = types.every((type) => type.exact);
    const dueSchedules = types.reduce((sum, type) => sum + type.dueSchedules, 0);
    const document = {
      ...totals,
      dueSchedules,
      exact,
      oldestDueAt,
      workersAlive: alive.length,
      paused: gates,
      types,
    };
    output.result({ spanMs: options.span, ...document }, () =>
      describe(output, { totals, dueSchedules, types, alive, gates, oldestDueAt, spanMs: options.span }),
    );
    return exitCodes.ok;
  });
}

function totalsOf(types: readonly TypeInfo[]): Totals {
  const sum = (key: (typeof counted)[number]): number => types.reduce((total, type) => total + type[key], 0);
  return Object.fromEntries(counted.map((key) => [key, sum(key)])) as Totals;
}

interface Described {
  readonly totals: Totals;
  readonly dueSchedules: number;
  readonly types: readonly TypeInfo[];
  readonly alive: readonly WorkerInfo[];
  readonly gates: readonly Gate[];
  readonly oldestDueAt: Date | undefined;
  readonly spanMs: number;
}

function describe(output: Output, described: Described): string {
  const { totals, dueSchedules, types, alive, gates, oldestDueAt, spanMs } = described;
  const n = (value: number): string => value.toLocaleString("en");
  const exact = types.every((type) => type.exact);
  const live = (value: number): string => estimate(value, exact);
  const oldest = oldestDueAt === undefined ? "" : `, the oldest ${ago(oldestDueAt)}`;
  const slots = alive.reduce((sum, worker) => sum + (worker.concurrency ?? 0), 0);
  const lines = [
    `now       ${live(totals.due)} due${oldest}; ${live(totals.scheduled)} scheduled; ${n(totals.running)} running`,
    ...(dueSchedules === 0
      ? []
      : [output.style("yellow", `          ${count(dueSchedules, "schedule")} overdue`)]),
    `last ${span(spanMs).padEnd(4)} ${n(totals.succeeded)} succeeded; ${n(totals.failed + totals.dead)} failed or dead; ${n(totals.canceled)} canceled`,
    `workers   ${count(alive.length, "worker")} alive with ${count(slots, "slot")}`,
    ...(gates.length === 0 ? [] : [output.style("yellow", `paused    ${gates.map(named).join(", ")}`)]),
  ];
  const busy = types.filter((type) => type.dueSchedules > 0 || counted.some((key) => type[key] > 0));
  return `${lines.join("\n")}\n${busy.length === 0 ? "" : `\n${output.table(busy, typeColumns)}`}`;
}

function named({ scope, key, waiting, exact }: Gate): string {
  const what = scope === "all" ? "everything" : `${scope} ${key}`;
  return `${what} (${estimate(waiting, exact)} waiting)`;
}
