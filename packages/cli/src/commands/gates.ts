/** `jobforge gates`: lists gates, and pauses and resumes everything, a type or a tenant. */
import type { ChangedGate, Gate, GateScope, GateScopeName } from "@jobforge/sdk-ts";
import type { Command } from "commander";
import {
  action,
  addCommand,
  addGroup,
  type Cli,
  type CommonOptions,
  connected,
  listing,
  onDatabase,
} from "../command.ts";
import { exitCodes, NotFoundError, UsageError } from "../failures.ts";
import { confirm } from "../output/confirm.ts";
import type { Column } from "../output/table.ts";
import { plain } from "../output/terminal.ts";
import { unknownTenant, unknownType } from "../output/unknown.ts";
import { ago, count, estimate, readTenant, readTime } from "../output/values.ts";

interface GateOptions extends CommonOptions {
  readonly all?: boolean;
  readonly type?: string;
  readonly tenant?: string;
  readonly reason?: string;
  readonly until?: Date;
  readonly yes?: boolean;
}

const columns: readonly Column<Gate>[] = [
  { title: "scope", value: (gate) => gate.scope, tone: () => "yellow" },
  { title: "key", value: (gate) => gate.key, shrinks: true },
  { title: "tenant", value: ({ tenantLabel }) => tenantLabel, optional: true, shrinks: "away", least: 8 },
  {
    title: "waiting",
    value: ({ waiting, exact }) => estimate(waiting, exact),
    align: "right",
    tone: ({ waiting }) => (waiting > 0 ? "yellow" : undefined),
  },
  { title: "reason", value: (gate) => gate.reason, shrinks: "first" },
  { title: "until", value: (gate) => ago(gate.until) },
  { title: "set", value: (gate) => ago(gate.setAt), shrinks: "away" },
  { title: "by", value: (gate) => gate.setBy, shrinks: "away" },
];

export function gatesCommands(program: Command, cli: Cli): void {
  const gates = addGroup(program, "gates", "Pause and resume everything, a type or a tenant");
  onDatabase(
    addCommand(gates, "list", {
      summary: "List what is paused now",
      examples: ["jobforge gates list", "jobforge gates list --json"],
    }),
  ).action(listing(cli, columns, "Nothing is paused.", (forge) => forge.gates.list()));
  scoped(
    addCommand(gates, "pause", {
      summary: "Pause everything, a type or a tenant",
      details: "Running jobs continue, but no more jobs are claimed. Jobs can still be enqueued.",
      examples: [
        `jobforge gates pause --type mail.send --reason "The mail provider is down" --until 2h`,
        "jobforge gates pause --all --yes",
      ],
    }),
  )
    .option("--reason <text>", "the reason, for people; stored in the audit log")
    .option(
      "--until <time>",
      "when the pause ends automatically: a time, or a time span such as 2h",
      (given) => readTime(given, "ahead"),
    )
    .option("--yes", "do not ask for confirmation before pausing everything")
    .action(action(cli, (options: GateOptions) => pause(cli, options)));
  scoped(
    addCommand(gates, "resume", {
      summary: "Resume everything, a type or a tenant",
      details: "Exit code 4 if it is not paused.",
      examples: ["jobforge gates resume --type mail.send", "jobforge gates resume --all"],
    }),
  ).action(action(cli, (options: GateOptions) => resume(cli, options)));
}

function scoped(command: Command): Command {
  return onDatabase(command)
    .option("--all", "everything")
    .option("--type <type>", "the jobs of a type")
    .option("--tenant <id>", "the jobs of a tenant, such as org_123 or a UUID", readTenant);
}

async function pause(cli: Cli, options: GateOptions): Promise<number> {
  const scope = scopeOf(options);
  return await connected(cli, options, async ({ forge }, output) => {
    if (scope === "all") {
      const types = await forge.types.list();
      const concerned = types.reduce((sum, type) => sum + type.due + type.running, 0);
      const about = types.every((type) => type.exact) ? "" : "about ";
      const jobs = `${about}${count(concerned, "job")} ${concerned === 1 ? "is" : "are"} due or running`;
      await confirm(`This pauses every type of every tenant; ${jobs}.`, options.yes, cli.process);
    }
    const gate = await forge.gates.pause(scope, { reason: options.reason, until: options.until });
    output.result(gate, () => {
      const until = gate.until === undefined ? "" : ` until ${gate.until.toISOString()}`;
      return `${described(gate)} is paused${until}.\n`;
    });
    if (gate.wasPaused) output.remark("It was paused before; its reason and its end are replaced.");
    if (!gate.known) output.remark(gate.scope === "type" ? unknownType(gate.key) : unknownTenant(gate.key));
    return exitCodes.ok;
  });
}

async function resume(cli: Cli, options: GateOptions): Promise<number> {
  const scope = scopeOf(options);
  return await connected(cli, options, async ({ forge }, output) => {
    const gate = await forge.gates.resume(scope);
    const others = await forge.gates.list();
    if (!gate.wasPaused) throw new NotFoundError(notPaused(gate), paused(others));
    output.result(gate, () => `${described(gate)} is no longer paused.\n`);
    const global = others.find((each) => each.scope === "all");
    if (global !== undefined) output.remark("Everything is still paused: jobforge gates resume --all");
    return exitCodes.ok;
  });
}

function notPaused(gate: ChangedGate): string {
  return gate.scope === "all" ? "Nothing is paused as a whole." : `${described(gate)} is not paused.`;
}

/** Says what is paused, because the name may be misspelled. */
function paused(gates: readonly Gate[]): string {
  const names = gates.slice(0, 5).map(({ scope, key }) => `${scope} ${plain(key)}`.trim());
  const more = gates.length > names.length ? ` and ${gates.length - names.length} more` : "";
  return names.length === 0 ? "Nothing is paused." : `Paused now: ${names.join(", ")}${more}.`;
}

function scopeOf({ all, type, tenant }: GateOptions): GateScope {
  const given = [all, type, tenant].filter((each) => each !== undefined);
  if (given.length !== 1) throw new UsageError("Pass exactly one of --all, --type TYPE and --tenant ID.");
  if (type !== undefined) return { type };
  return tenant === undefined ? "all" : { tenantId: tenant };
}

function described({ scope, key }: { readonly scope: GateScopeName; readonly key: string }): string {
  if (scope === "all") return "Everything";
  return `${scope === "type" ? "Type" : "Tenant"} ${plain(key)}`;
}
