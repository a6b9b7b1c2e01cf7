/** `jobforge limits`: lists, sets and deletes limits of types, tenants, types of tenants and concurrency keys. */
import { bounds, intervalText, type Limit, type LimitScope } from "@jobforge/sdk-ts";
import type { Command } from "commander";
import {
  action,
  addCommand,
  addGroup,
  type Cli,
  type CommonOptions,
  connected,
  onDatabase,
  withPages,
} from "../command.ts";
import { exitCodes, NotFoundError, UsageError } from "../failures.ts";
import type { PagingOptions } from "../output/output.ts";
import type { Column } from "../output/table.ts";
import { plain } from "../output/terminal.ts";
import { unknownTenant, unknownType } from "../output/unknown.ts";
import { ago, readSpan, readTenant, readText, span, wholeNumber } from "../output/values.ts";

interface ScopeOptions extends CommonOptions {
  readonly type?: string;
  readonly tenant?: string;
  readonly key?: string;
}

interface SetOptions extends ScopeOptions {
  readonly maxRunning?: number;
  readonly rate?: number;
  readonly per?: number;
  readonly burst?: number;
  readonly unlimited?: boolean;
}

interface ListOptions extends ScopeOptions, PagingOptions {}

const columns: readonly Column<Limit>[] = [
  { title: "scope", value: ({ scope }) => scope },
  { title: "key", value: ({ key }) => key, shrinks: true },
  { title: "tenant", value: ({ tenantLabel }) => tenantLabel, optional: true, shrinks: "away", least: 8 },
  { title: "running", value: ({ maxRunning }) => maxRunning ?? "any", align: "right" },
  { title: "starts", value: (limit) => startsOf(limit) ?? "any" },
  { title: "set", value: ({ setAt }) => ago(setAt), shrinks: "away" },
  { title: "by", value: ({ setBy }) => setBy, shrinks: "away" },
];

export function limitsCommands(program: Command, cli: Cli): void {
  const limits = addGroup(program, "limits", "Limit how many jobs run at once, and how many start in a time");
  const listed = addCommand(limits, "list", {
    summary: "List limits, sorted by scope and key",
    examples: ["jobforge limits list", "jobforge limits list --type mail.send --json"],
  });
  withPages(scoped(listed), "limits").action(action(cli, (options: ListOptions) => list(cli, options)));
  scoped(
    addCommand(limits, "set", {
      summary: "Set the limit of a type, a tenant, a type of a tenant, or a concurrency key",
      details: [
        "It replaces the limit that was set before. Running jobs continue.",
        "* as the type, tenant or key is the default for each one without its own limit.",
      ].join(" "),
      examples: [
        "jobforge limits set --type mail.send --max-running 5",
        "jobforge limits set --type mail.send --tenant '*' --max-running 1",
        "jobforge limits set --tenant 11111111-1111-4111-8111-111111111111 --rate 100 --per 1m --burst 20",
        "jobforge limits set --key '*' --max-running 1",
      ],
    }),
  )
    .option(
      "--max-running <number>",
      "how many of its jobs may run at once; 0 lets none start",
      wholeNumber("--max-running", bounds.maxRunning),
    )
    .option(
      "--rate <number>",
      "how many of its jobs may start in each --per",
      wholeNumber("--rate", bounds.rate),
    )
    .option("--per <span>", "the period of --rate, such as 1s, 1m or 1h", readSpan)
    .option(
      "--burst <number>",
      "how many of them may start at once after a quiet time (default: --rate)",
      wholeNumber("--burst", bounds.rate),
    )
    .option("--unlimited", "no limit, whatever the default is")
    .action(action(cli, (options: SetOptions) => set(cli, options)));
  scoped(
    addCommand(limits, "delete", {
      summary: "Delete a limit, so that the default applies, if there is one",
      examples: [
        "jobforge limits delete --type mail.send",
        "jobforge limits delete --tenant 11111111-1111-4111-8111-111111111111",
      ],
    }),
  ).action(action(cli, (options: ScopeOptions) => remove(cli, options)));
}

function scoped(command: Command): Command {
  return onDatabase(command)
    .option("--type <type>", "the jobs of a type; with --tenant those of one tenant", readText)
    .option("--tenant <id>", "the jobs of a tenant", tenantOrAll)
    .option("--key <key>", "the jobs with a concurrency key, of each tenant and type by itself", readText);
}

async function list(cli: Cli, options: ListOptions): Promise<number> {
  return await connected(cli, options, async ({ forge }, output) => {
    const limits = (await forge.limits.list()).filter((limit) => concerns(limit, options));
    output.page(limits, columns, { ...options, empty: "No limits." });
    return exitCodes.ok;
  });
}

/** Whether a limit names what the options name. */
function concerns({ scope, key }: Limit, options: ScopeOptions): boolean {
  const split = scope === "type_tenant" ? key.lastIndexOf(":") : -1;
  const type = scope === "type" ? key : split < 0 ? undefined : key.slice(0, split);
  const tenant = scope === "tenant" ? key : split < 0 ? undefined : key.slice(split + 1);
  return (
    (options.type === undefined || options.type === type) &&
    (options.tenant === undefined || options.tenant === tenant) &&
    (options.key === undefined || (scope === "key" && options.key === key))
  );
}

async function set(cli: Cli, options: SetOptions): Promise<number> {
  const scope = scopeOf(options);
  const { maxRunning, rate, burst, unlimited } = options;
  const numbers = [maxRunning, rate].some((each) => each !== undefined);
  if (numbers === (unlimited ?? false))
    throw new UsageError("Pass --max-running, --rate with --per, or both; or only --unlimited.");
  if ((rate === undefined) !== (options.per === undefined))
    throw new UsageError("--rate and --per belong together, such as --rate 100 --per 1m.");
  if (burst !== undefined && rate === undefined) throw new UsageError("--burst needs --rate and --per.");
  const per = options.per === undefined ? undefined : `${options.per} milliseconds`;
  return await connected(cli, options, async ({ forge }, output) => {
    const limit = await forge.limits.set(scope, { maxRunning, rate, per, burst });
    output.result(limit, () => `${described(scope)}: ${inWords(limit, options.per)}.\n`);
    if (!limit.known) output.remark(unknown(scope));
    return exitCodes.ok;
  });
}

async function remove(cli: Cli, options: ScopeOptions): Promise<number> {
  const scope = scopeOf(options);
  return await connected(cli, options, async ({ forge }, output) => {
    if (!(await forge.limits.remove(scope)))
      throw new NotFoundError(`${described(scope)} has no limit of its own. See jobforge limits list.`);
    output.result({ ...scope, deleted: true }, () => `${described(scope)}: limit deleted.\n`);
    return exitCodes.ok;
  });
}

/** `*` is the default for tenants without their own limit. */
const tenantOrAll = (given: string): string => (given === "*" ? given : readTenant(given));

function scopeOf({ type, tenant: tenantId, key }: ScopeOptions): LimitScope {
  const wrong = "Pass --type, --tenant, --type with --tenant, or --key.";
  if (key !== undefined) {
    if (type !== undefined || tenantId !== undefined) throw new UsageError(wrong);
    return { key };
  }
  if (type !== undefined) return tenantId === undefined ? { type } : { type, tenantId };
  if (tenantId === undefined) throw new UsageError(wrong);
  return { tenantId };
}

function described({ type, tenantId, key }: LimitScope): string {
  const each = (what: string, value: string): string =>
    value === "*" ? `each ${what}` : `${what} ${plain(value)}`;
  const text =
    key !== undefined
      ? each("concurrency key", key)
      : [
          ...(type === undefined ? [] : [each("type", type)]),
          ...(tenantId === undefined ? [] : [each("tenant", tenantId)]),
        ].join(" of ");
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/** The kernel does not say which of the two is unknown. */
function unknown({ type, tenantId }: LimitScope): string {
  if (type === undefined || type === "*") return unknownTenant(tenantId ?? "");
  if (tenantId === undefined || tenantId === "*") return unknownType(type);
  return `Check both names. ${unknownType(type)} Or the tenant ${tenantId} has no jobs, schedules or settings.`;
}

function inWords(limit: Limit, perMs: number | undefined): string {
  const { maxRunning } = limit;
  const starts = startsOf(limit, perMs === undefined ? undefined : span(perMs));
  const parts = [
    ...(maxRunning === undefined ? [] : [`at most ${maxRunning} running at once`]),
    ...(starts === undefined ? [] : [`at most ${starts}`]),
  ];
  return parts.length === 0 ? "no limit" : parts.join("; ");
}

/** Describes a rate: `100 per 1m, 20 at once`. */
function startsOf({ rate, per, burst }: Limit, period = intervalText(per ?? "")): string | undefined {
  if (rate === undefined || rate === null) return undefined;
  return `${rate} per ${period}${burst === undefined || burst === rate ? "" : `, ${burst} at once`}`;
}
