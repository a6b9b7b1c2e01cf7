/** `jobforge gates`: what is paused; pause and resume everything, a type or a tenant. */
import type { Gate, GateScope } from "@jobforge/sdk-ts";
import type { Command } from "commander";
import {
  action,
  addCommand,
  addFamily,
  type Cli,
  type CommonOptions,
  connected,
  listing,
  onDatabase,
} from "../command.ts";
import { exitCodes, UsageError } from "../failures.ts";
import { confirm } from "../output/confirm.ts";
import type { Column } from "../output/table.ts";
import { ago, count, readTime } from "../output/values.ts";

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
  const gates = addFamily(program, "gates", "Pause and resume everything, a type or a tenant");
  onDatabase(
    addCommand(gates, "list", {
      summary: "List what is paused now",
      examples: ["jobforge gates list", "jobforge gates list --json"],
    }),
  ).action(listing(cli, columns, "Nothing is paused.", (forge) => forge.gates.list()));
  scoped(
    addCommand(gates, "pause", {
      summary: "Pause everything, a type or a tenant",
      details: "What runs goes on; nothing of it is claimed any more. Jobs can be enqueued all the same.",
      examples: [
        `jobforge gates pause --type mail.send --reason "The mail provider is down" --until 2h`,
        "jobforge gates pause --all --yes",
      ],
    }),
  )
    .option("--reason <text>", "why, for people; kept in the audit log")
    .option("--until <time>", "when the pause ends by itself: a time, or a span such as 2h", (given) =>
      readTime(given, "ahead"),
    )
    .option("--yes", "do not ask before pausing everything")
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
    .option("--tenant <uuid>", "the jobs of a tenant");
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
    output.answer(
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
    output.answer({ ...document(scope), paused: false }, () => `${describe(scope)} is no longer paused.\n`);
    return exitCodes.ok;
  });
}

function scopeOf({ all, type, tenant }: GateOptions): GateScope {
  const given = [all, type, tenant].filter((each) => each !== undefined);
  if (given.length !== 1) throw new UsageError("Say what: --all, --type TYPE or --tenant UUID; one of them.");
  if (type !== undefined) return { type };
  return tenant === undefined ? "all" : { tenantId: tenant };
}

function document(scope: GateScope): { scope: string; key: string } {
  if (scope === "all") return { scope, key: "" };
  return "type" in scope ? { scope: "type", key: scope.type } : { scope: "tenant", key: scope.tenantId };
}

function describe(scope: GateScope): string {
  if (scope === "all") return "Everything";
  return "type" in scope ? `Type ${scope.type}` : `Tenant ${scope.tenantId}`;
}
