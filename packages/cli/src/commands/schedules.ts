/** `jobforge schedules`: recurring work; list, add and steer it, and see when it runs next. */
import { defineJob, globalTenant, type JobForge, type Rhythm, type Schedule } from "@jobforge/sdk-ts";
import type { Command } from "commander";
import {
  action,
  addCommand,
  addFamily,
  type Cli,
  type CommonOptions,
  connected,
  onDatabase,
} from "../command.ts";
import { exitCodes, NotFoundError, UsageError } from "../failures.ts";
import { readPayload } from "../jobs/payload.ts";
import { redactor } from "../jobs/redact.ts";
import type { Column } from "../output/table.ts";
import { ago, collect, readWhole } from "../output/values.ts";

interface ListOptions extends CommonOptions {
  readonly tenant?: string;
  readonly type?: string[];
  readonly enabled?: boolean;
  readonly disabled?: boolean;
  readonly failing?: boolean;
  readonly limit: number;
  readonly cursor?: string;
}

interface OneOptions extends CommonOptions {
  readonly tenant: string;
}

interface RhythmOptions {
  readonly cron?: string;
  readonly timezone?: string;
  readonly every?: string;
  readonly dynamic?: true;
}

interface AddOptions extends OneOptions, RhythmOptions {
  readonly payload?: string;
  readonly overlap?: "skip" | "queue" | "allow";
  readonly missed?: "skip" | "once" | "all";
  readonly retryRuns?: boolean;
  readonly disabled?: boolean;
}

interface NextOptions extends OneOptions {
  readonly cron?: string;
  readonly timezone?: string;
  readonly count: number;
}

const columns: readonly Column<Schedule>[] = [
  { title: "type", value: (schedule) => schedule.type, shrinks: true },
  { title: "key", value: (schedule) => schedule.key, shrinks: true },
  { title: "runs", value: describeRhythm },
  { title: "next", value: describeNext, tone: ({ enabled }) => (enabled ? undefined : "yellow") },
  { title: "last", value: ({ lastRunAt }) => ago(lastRunAt) },
  {
    title: "ended",
    value: ({ lastStatus, consecutiveFailures }) =>
      consecutiveFailures > 0 ? `failed × ${consecutiveFailures}` : lastStatus,
    tone: ({ consecutiveFailures }) => (consecutiveFailures > 0 ? "red" : "green"),
  },
  { title: "error", value: ({ lastError }) => lastError, shrinks: true },
];

function describeRhythm({ kind, cron, timezone, every }: Schedule): string {
  if (cron !== undefined) return `${cron} ${timezone ?? "UTC"}`;
  return every === undefined ? kind : `every ${every}`;
}

function describeNext({ enabled, runningSince, nextRunAt }: Schedule): string {
  if (!enabled) return "disabled";
  return nextRunAt === undefined && runningSince !== undefined ? "running" : ago(nextRunAt);
}

export function schedulesCommands(program: Command, cli: Cli): void {
  const schedules = addFamily(program, "schedules", "See and steer recurring work");
  listCommand(schedules, cli);
  addScheduleCommand(schedules, cli);
  for (const steer of steers) steerCommand(schedules, cli, steer);
  nextCommand(schedules, cli);
}

function listCommand(schedules: Command, cli: Cli): void {
  onDatabase(
    addCommand(schedules, "list", {
      summary: "List schedules, by tenant, type and key",
      examples: ["jobforge schedules list", "jobforge schedules list --type fetch_feed --failing --json"],
    }),
  )
    .option("--tenant <uuid>", "of this tenant; without it of all")
    .option("--type <type>", "of these types; repeated or separated by commas", collect)
    .option("--enabled", "only those that run")
    .option("--disabled", "only those that do not")
    .option("--failing", "only those whose last run failed")
    .option("--limit <number>", "schedules of a page", (given) => readWhole(given, "--limit", 1, 1000), 50)
    .option("--cursor <cursor>", "go on after a page")
    .action(action(cli, (options: ListOptions) => list(cli, options)));
}

async function list(cli: Cli, options: ListOptions): Promise<number> {
  const { tenant: tenantId, type, failing, limit: pageSize } = options;
  if (options.enabled && options.disabled) throw new UsageError("--enabled or --disabled, not both.");
  const enabled = options.enabled ?? (options.disabled ? false : undefined);
  return await connected(cli, options, async ({ forge }, output) => {
    const job = type?.map((each) => defineJob({ type: each }));
    const page = await forge.schedules
      .list({ tenantId, job, enabled, failing, pageSize })
      .page(options.cursor);
    const items = output.json ? await Promise.all(page.items.map(redactor(forge))) : page.items;
    output.list(items, columns, { empty: "No schedules.", cursor: page.cursor });
    return exitCodes.ok;
  });
}

function addScheduleCommand(schedules: Command, cli: Cli): void {
  withRhythm(
    ofOne(
      addCommand(schedules, "add <type> <key>", {
        summary: "Make sure that a schedule is there and is as the options say",
        details:
          "One of --cron, --every and --dynamic says when it runs. The key tells it from others of the type.",
        examples: [
          'jobforge schedules add report.build weekly --cron "0 9 * * mon" --timezone Europe/Berlin',
          `jobforge schedules add fetch_feed feed-1 --every 15m --payload '{"feed": 1}'`,
        ],
      }),
    ),
  )
    .option("--payload <json>", "of each run: JSON, @file, or - for standard input")
    .option("--overlap <mode>", "when it is due while it runs: skip, queue or allow")
    .option("--missed <mode>", "when due times passed without a worker: once, skip or all")
    .option("--retry-runs", "retry a failed run as its type's policy says, instead of waiting for the next")
    .option("--disabled", "do not run it yet")
    .action(action(cli, (type: string, key: string, options: AddOptions) => add(cli, type, key, options)));
}

async function add(cli: Cli, type: string, key: string, options: AddOptions): Promise<number> {
  const rhythm = rhythmOf(options);
  const payload = await readPayload(cli, options.payload);
  return await connected(cli, options, async ({ forge }, output) => {
    const { tenant: tenantId, overlap, missed, retryRuns, disabled } = options;
    const schedule = await forge.schedules.ensure(defineJob({ type }), key, {
      ...rhythm,
      ...{ tenantId, payload, overlap, missed, retryRuns },
      enabled: disabled ? false : undefined,
    });
    const { outcome } = schedule;
    output.answer(
      await redactor(forge)(schedule),
      () => `${type} ${key} ${output.style("green", outcome)}; ${inWords(schedule)}\n`,
    );
    return exitCodes.ok;
  });
}

interface Steer {
  readonly name: string;
  readonly summary: string;
  readonly apply: (
    schedules: JobForge["schedules"],
    ...which: Parameters<JobForge["schedules"]["enable"]>
  ) => Promise<Schedule>;
}

const steers: readonly Steer[] = [
  {
    name: "enable",
    summary: "Let a schedule run again",
    apply: (schedules, ...which) => schedules.enable(...which),
  },
  {
    name: "disable",
    summary: "Stop a schedule; a run that has begun ends as usual",
    apply: (schedules, ...which) => schedules.disable(...which),
  },
  {
    name: "run",
    summary: "Ask for a run now, beside the next one",
    apply: (schedules, ...which) => schedules.run(...which),
  },
];

function steerCommand(schedules: Command, cli: Cli, { name, summary, apply }: Steer): void {
  const command = addCommand(schedules, `${name} <type> <key>`, {
    summary,
    examples: [`jobforge schedules ${name} report.build weekly`],
  });
  ofOne(command).action(
    action(cli, (type: string, key: string, options: OneOptions) =>
      connected(cli, options, async ({ forge }, output) => {
        const { tenant: tenantId } = options;
        const schedule = await apply(forge.schedules, defineJob({ type }), key, { tenantId });
        output.answer(await redactor(forge)(schedule), () => `${type} ${key}: ${inWords(schedule)}\n`);
        return exitCodes.ok;
      }),
    ),
  );
}

/** How it stands, as a sentence. */
function inWords(schedule: Schedule): string {
  if (schedule.runRequested) return "a run was asked for.";
  if (!schedule.enabled) return "it is disabled.";
  return schedule.nextRunAt === undefined ? "no next run." : `next run ${ago(schedule.nextRunAt)}.`;
}

function nextCommand(schedules: Command, cli: Cli): void {
  ofOne(
    addCommand(schedules, "next [type] [key]", {
      summary: "Show when a schedule runs next, or what a cron expression means",
      examples: [
        "jobforge schedules next report.build weekly",
        'jobforge schedules next --cron "0 9 * * mon-fri" --timezone Europe/Berlin --count 10',
      ],
    }),
  )
    .option("--cron <expression>", "an expression instead of a schedule")
    .option("--timezone <name>", "whose clock it means (default: UTC)")
    .option("--count <number>", "how many", (given) => readWhole(given, "--count", 1, 1000), 5)
    .action(
      action(cli, (type: string | undefined, key: string | undefined, options: NextOptions) =>
        next(cli, type, key, options),
      ),
    );
}

async function next(
  cli: Cli,
  type: string | undefined,
  key: string | undefined,
  options: NextOptions,
): Promise<number> {
  const { cron, timezone, count: wanted } = options;
  if ((cron === undefined) === (type === undefined || key === undefined))
    throw new UsageError("Name a schedule by type and key, or pass --cron.");
  return await connected(cli, options, async ({ forge }, output) => {
    const runs =
      cron === undefined
        ? await runsOf(forge, type ?? "", key ?? "", options)
        : await cronRuns(forge, cron, timezone, undefined, wanted);
    output.answer({ items: runs, cursor: null }, () =>
      runs.length === 0 ? "No next run.\n" : runs.map((at) => `${at.toISOString()}  ${ago(at)}\n`).join(""),
    );
    return exitCodes.ok;
  });
}

/** The next run as the schedule has it, and what follows by its expression. Of other kinds, with their chance and handlers, only the next is known. */
async function runsOf(forge: JobForge, type: string, key: string, options: NextOptions): Promise<Date[]> {
  const schedule = await forge.schedules.get(defineJob({ type }), key, { tenantId: options.tenant });
  if (schedule === undefined) throw new NotFoundError(`There is no schedule ${key} of ${type}.`);
  const { enabled, nextRunAt, cron, timezone, endsAt } = schedule;
  if (!enabled || nextRunAt === undefined) return [];
  const more = options.count - 1;
  const later =
    cron === undefined || more === 0 ? [] : await cronRuns(forge, cron, timezone, nextRunAt, more);
  return [nextRunAt, ...later.filter((at) => endsAt === undefined || at <= endsAt)];
}

async function cronRuns(
  forge: JobForge,
  cron: string,
  timezone: string | undefined,
  after: Date | undefined,
  wanted: number,
): Promise<Date[]> {
  const runs = await forge.transport.call<string[]>("jobforge_cron_runs", {
    p_expression: cron,
    p_timezone: timezone,
    p_after: after,
    p_count: wanted,
  });
  return runs.map((at) => new Date(at));
}

function ofOne(command: Command): Command {
  return onDatabase(command).option(
    "--tenant <uuid>",
    "whose it is; without it work of no tenant",
    globalTenant,
  );
}

function withRhythm(command: Command): Command {
  return command
    .option("--cron <expression>", 'at the times of an expression, such as "0 9 * * mon-fri"')
    .option("--timezone <name>", "whose clock the expression means (default: UTC)")
    .option("--every <interval>", "at an interval, such as 15m or 1h30m")
    .option("--dynamic", "when the handler says");
}

function rhythmOf({ cron, timezone, every, dynamic }: RhythmOptions): Rhythm {
  if ([cron, every, dynamic].filter((each) => each !== undefined).length !== 1)
    throw new UsageError("Say when it runs: --cron, --every or --dynamic; one of them.");
  if (timezone !== undefined && cron === undefined) throw new UsageError("--timezone belongs to --cron.");
  if (cron !== undefined) return { cron, timezone };
  return every === undefined ? { dynamic: true } : { every };
}
