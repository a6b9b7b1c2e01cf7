/** `jobforge policies`: lists, shows, sets and resets how the jobs of a type are retried, leased and kept. */
import {
  bounds,
  type KeepLogs,
  keepLogsModes,
  type Policy,
  type PolicyChanges,
  type RetryPreset,
  retryPresetNames,
  retryPresets,
} from "@jobforge/sdk-ts";
import { type Command, Option } from "commander";
import {
  action,
  addCommand,
  addGroup,
  type Cli,
  type CommonOptions,
  connected,
  onDatabase,
} from "../command.ts";
import { exitCodes, UsageError } from "../failures.ts";
import { historyOf, policyLines, retriesOf, timeoutOf } from "../output/policy.ts";
import type { Column } from "../output/table.ts";
import { plain } from "../output/terminal.ts";
import {
  ago,
  choice,
  collect,
  noneToNull,
  orNone,
  readSpan,
  readText,
  wholeNumber,
} from "../output/values.ts";

interface ListOptions extends CommonOptions {
  readonly limit: number;
  readonly cursor?: string;
}

interface SetOptions extends CommonOptions {
  readonly preset?: RetryPreset;
  readonly maxAttempts?: number;
  readonly base?: number;
  readonly cap?: number | "none";
  readonly factor?: number;
  readonly jitter?: number;
  readonly timeout?: number | "none";
  readonly lease?: number | "none";
  readonly history?: number | "none";
  readonly maxPriority?: number | "none";
  readonly redact?: readonly string[];
  readonly keepLogs?: KeepLogs;
  readonly auditAction?: string | "none";
}

const columns: readonly Column<Policy>[] = [
  { title: "type", value: ({ type }) => type, shrinks: true },
  { title: "retries", value: retriesOf, shrinks: "first", least: 32 },
  { title: "timeout", value: timeoutOf },
  { title: "history", value: historyOf, shrinks: "away" },
  { title: "changed", value: ({ updatedAt }) => ago(updatedAt), shrinks: "away" },
  { title: "by", value: ({ updatedBy }) => updatedBy, shrinks: "away" },
];

const dayMs = 86_400_000;

export function policiesCommands(program: Command, cli: Cli): void {
  const policies = addGroup(program, "policies", "Show and set how types are retried, leased and kept");
  onDatabase(
    addCommand(policies, "list", {
      summary: "List the default policy (*) and the policies that types have of their own",
      examples: ["jobforge policies list", "jobforge policies list --json"],
    }),
  )
    .option(
      "--limit <number>",
      "the number of policies per page",
      wholeNumber("--limit", bounds.pageSize),
      50,
    )
    .option("--cursor <cursor>", "continue after a page")
    .action(action(cli, (options: ListOptions) => list(cli, options)));
  onDatabase(
    addCommand(policies, "show <type>", {
      summary: "Show the policy that applies to a type",
      examples: ["jobforge policies show mail.send", "jobforge policies show '*'"],
    }),
  ).action(action(cli, (type: string, options: CommonOptions) => show(cli, type, options)));
  withChanges(
    onDatabase(
      addCommand(policies, "set <type>", {
        summary: "Change the policy of a type, or with * the default policy",
        details: "Settings that are not given stay as they are. none removes an optional setting.",
        examples: [
          "jobforge policies set mail.send --max-attempts 10 --base 30s --cap 1h --timeout 2m",
          "jobforge policies set report.build --history 90d --redact password,token",
          "jobforge policies set '*' --history 14d",
        ],
      }),
    ),
  ).action(action(cli, (type: string, options: SetOptions) => set(cli, type, options)));
  onDatabase(
    addCommand(policies, "reset <type>", {
      summary: "Remove the policy of a type, so that the default policy applies",
      details: "With * the default policy gets the values of a new installation.",
      examples: ["jobforge policies reset mail.send"],
    }),
  ).action(action(cli, (type: string, options: CommonOptions) => reset(cli, type, options)));
}

/** Also accepts the older names of the presets, which the help does not list. */
function readPreset(given: string): RetryPreset {
  const found = (Object.keys(retryPresets) as RetryPreset[]).find((name) => name === given);
  if (found === undefined)
    throw new UsageError(`--preset must be ${choice(retryPresetNames)}, not "${given}".`);
  return found;
}

function withChanges(command: Command): Command {
  const options = [
    new Option("--preset <name>", "set the retry settings to those of a preset")
      .choices(retryPresetNames)
      .argParser(readPreset),
    new Option("--max-attempts <number>", "the total number of executions").argParser(
      wholeNumber("--max-attempts", bounds.maxAttempts),
    ),
    new Option("--base <span>", "the wait before the first retry").argParser(readSpan),
    new Option("--cap <span>", "the longest wait between retries, or none").argParser(orNone(readSpan)),
    new Option("--factor <number>", "how much longer each wait is than the one before").argParser(
      decimal("--factor"),
    ),
    new Option("--jitter <number>", "the random share of each wait, from 0 to 1").argParser(
      decimal("--jitter"),
    ),
    new Option("--timeout <span>", "how long a run may take, or none").argParser(orNone(readSpan)),
    new Option(
      "--lease <span>",
      "how long a worker holds a job without a heartbeat, or none for as long as it is alive",
    ).argParser(orNone(readSpan)),
    new Option("--history <span>", "how long finished jobs are kept, in days, or none").argParser(
      orNone(days),
    ),
    new Option("--max-priority <number>", "the highest priority of its jobs, or none").argParser(
      orNone(wholeNumber("--max-priority", bounds.priority)),
    ),
    new Option("--redact <keys>", "payload keys that are not shown, separated by commas, or none").argParser(
      (given, before: readonly string[] | undefined) => (given === "none" ? [] : collect(given, before)),
    ),
    new Option("--keep-logs <runs>", "the runs whose logs are kept with their attempts").choices(
      keepLogsModes,
    ),
    new Option(
      "--audit-action <name>",
      "write each success to the audit log, under this name, or none",
    ).argParser(orNone(readText)),
  ];
  for (const option of options) command.addOption(option);
  return command;
}

function decimal(name: string): (given: string) => number {
  return (given) => {
    if (!/^\d+(\.\d+)?$/.test(given)) throw new UsageError(`${name} must be a number, not "${given}".`);
    return Number(given);
  };
}

function days(given: string): number {
  const count = readSpan(given) / dayMs;
  if (!Number.isInteger(count) || count < bounds.retentionDays.min || count > bounds.retentionDays.max)
    throw new UsageError(
      `--history must be whole days from 1d to ${bounds.retentionDays.max}d, not "${given}".`,
    );
  return count;
}

async function list(cli: Cli, options: ListOptions): Promise<number> {
  return await connected(cli, options, async ({ forge }, output) => {
    const page = await forge.policies.list({ pageSize: options.limit }).page(options.cursor);
    output.list(page.items, columns, { empty: "No policies.", cursor: page.cursor });
    return exitCodes.ok;
  });
}

async function show(cli: Cli, type: string, options: CommonOptions): Promise<number> {
  return await connected(cli, options, async ({ forge }, output) => {
    const policy = await forge.policies.get(type);
    output.result(policy, () => describe(type, policy));
    return exitCodes.ok;
  });
}

async function set(cli: Cli, type: string, options: SetOptions): Promise<number> {
  const changes = changesOf(options);
  if (Object.values(changes).every((value) => value === undefined))
    throw new UsageError("Pass at least one setting, such as --max-attempts 10.");
  return await connected(cli, options, async ({ forge }, output) => {
    const policy = await forge.policies.set(type, changes);
    output.result(policy, () => describe(type, policy));
    return exitCodes.ok;
  });
}

async function reset(cli: Cli, type: string, options: CommonOptions): Promise<number> {
  return await connected(cli, options, async ({ forge }, output) => {
    const result = await forge.policies.reset(type);
    output.result(result, () => {
      const name = plain(type);
      const done = result.reset ? `The policy of ${name} is reset.` : `${name} has no policy of its own.`;
      return `${done}\n${describe(type, result.policy)}`;
    });
    return exitCodes.ok;
  });
}

function changesOf(options: SetOptions): PolicyChanges {
  const { preset, maxAttempts, base: baseMs, factor, jitter, redact, keepLogs, history } = options;
  return {
    ...{ preset, maxAttempts, baseMs, factor, jitter, redact, keepLogs },
    capMs: noneToNull(options.cap),
    timeoutMs: noneToNull(options.timeout),
    leaseMs: noneToNull(options.lease),
    maxPriority: noneToNull(options.maxPriority),
    auditAction: noneToNull(options.auditAction),
    keepHistory: history === undefined ? undefined : history !== "none",
    retentionDays: history === "none" ? undefined : history,
  };
}

function describe(type: string, policy: Policy): string {
  const lines = [
    `policy    ${policy.type === type ? "its own" : "default"}`,
    ...policyLines(policy),
    `priority  ${policy.maxPriority === undefined ? "any" : `at most ${policy.maxPriority}`}`,
    ...(policy.redact.length === 0 ? [] : [`redacted  ${policy.redact.join(", ")}`]),
    ...(policy.auditAction === undefined ? [] : [`audited   ${policy.auditAction}`]),
    ...(policy.updatedAt === undefined ? [] : [`changed   ${ago(policy.updatedAt)} by ${policy.updatedBy}`]),
  ];
  return `${plain(type)}\n${lines.map((line) => `${plain(line)}\n`).join("")}`;
}
