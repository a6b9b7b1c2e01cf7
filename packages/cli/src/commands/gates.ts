/** `jobforge gates`: lists gates, and pauses and resumes everything, a type or a tenant. */
import type { Gate, GateScope, GateScopeName } from "@jobforge/sdk-ts";
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
import { exitCodes, UsageError } from "../failures.ts";
import { confirm } from "../output/confirm.ts";
import type { Column } from "../output/table.ts";
import { ago, count, readTenant, readTime } from "../output/values.ts";

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
  {
    title: "waiting",
    value: ({ waiting, exact }) => (exact ? waiting : `~${waiting}`),
    align: "right",
    tone: ({ waiting }) => (waiting > 0 ? "yellow" : undefined),
  },
  { title: "reason", value: (gate) => gate.reason, shrinks: true },
  { title: "until", value: (gate) => ago(gate.until) },
  { title: "set", value: (gate) => ago(gate.setAt) },
  { title: "by", value: (gate) => gate.setBy },
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
      const concerned = (await forge.types.list()).reduce((sum, type) => sum + type.due + type.running, 0);
      const jobs = `${count(concerned, "job")} ${concerned === 1 ? "is" : "are"} due or running`;
      await confirm(`This pauses every type of every tenant; ${jobs}.`, options.yes, cli.process);
    }
    await forge.gates.pause(scope, { reason: options.reason, until: options.until });
    const until = options.until?.toISOString() ?? null;
    output.result(
      { ...document(scope), paused: true, reason: options.reason ?? null, until },
      () => `${describe(scope)} is paused${options.until ? ` until ${until}` : ""}.\n`,
    );
    return exitCodes.ok;
  });
}

async function resume(cli: Cli, options: GateOptions): Promise<number> {
  const scope = scopeOf(options);
  return await connected(cli, options, async ({ forge }, output) => {
    await forge.gates.resume(scope);
    output.result({ ...document(scope), paused: false }, () => `${describe(scope)} is no longer paused.\n`);
    return exitCodes.ok;
  });
}

function scopeOf({ all, type, tenant }: GateOptions): GateScope {
  const given = [all, type, tenant].filter((each) => each !== undefined);
  if (given.length !== 1) throw new UsageError("Pass exactly one of --all, --type TYPE and --tenant UUID.");
  if (type !== undefined) return { type };
  return tenant === undefined ? "all" : { tenantId: tenant };
}

function document(scope: GateScope): { scope: GateScopeName; key: string } {
  if (scope === "all") return { scope, key: "" };
  return "type" in scope ? { scope: "type", key: scope.type } : { scope: "tenant", key: scope.tenantId };
}

function describe(scope: GateScope): string {
  if (scope === "all") return "Everything";
  return "type" in scope ? `Type ${scope.type}` : `Tenant ${scope.tenantId}`;
}
