/** `jobforge types`: the types there are, and how one behaves. */
import type { Policy, TypeInfo } from "@jobforge/sdk-ts";
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
import { exitCodes, NotFoundError } from "../failures.ts";
import type { Output } from "../output/output.ts";
import type { Column } from "../output/table.ts";
import { ago, readSpan, span } from "../output/values.ts";

interface TypesOptions extends CommonOptions {
  readonly span: number;
}

const number = (title: string, value: (type: TypeInfo) => number): Column<TypeInfo> => ({
  title,
  value,
  align: "right",
});
const failures = (type: TypeInfo): number => type.failed + type.dead;

export const typeColumns: readonly Column<TypeInfo>[] = [
  { title: "type", value: (type) => type.type, shrinks: true },
  number("due", (type) => type.due),
  number("scheduled", (type) => type.scheduled),
  { ...number("running", (type) => type.running), tone: (type) => (type.running > 0 ? "cyan" : undefined) },
  number("succeeded", (type) => type.succeeded),
  { ...number("failed", failures), tone: (type) => (failures(type) > 0 ? "red" : undefined) },
  { title: "wait", value: (type) => milliseconds(type.waitMs), align: "right" },
  { title: "run", value: (type) => milliseconds(type.runMs), align: "right" },
  {
    ...number("workers", (type) => type.workers),
    tone: (type) => (type.workers === 0 && type.due > 0 ? "red" : undefined),
  },
  { title: "", value: (type) => (type.paused ? "paused" : ""), tone: () => "yellow" },
];

function milliseconds(value: number | undefined): string {
  return value === undefined ? "" : span(value);
}

export function typesCommands(program: Command, cli: Cli): void {
  const types = addFamily(program, "types", "See the types of jobs there are");
  withSpan(
    addCommand(types, "list", {
      summary: "List types with what waits, runs and has ended lately",
      examples: ["jobforge types list", "jobforge types list --span 1d --json"],
    }),
  ).action(
    listing(cli, typeColumns, "No types yet.", (forge, { span: spanMs }: TypesOptions) =>
      forge.types.list({ spanMs }),
    ),
  );
  withSpan(
    addCommand(types, "show <type>", {
      summary: "Show a type: its numbers and its policy",
      examples: ["jobforge types show mail.send"],
    }),
  ).action(action(cli, (type: string, options: TypesOptions) => show(cli, type, options)));
}

export function withSpan(command: Command): Command {
  return onDatabase(command).option(
    "--span <span>",
    "count what ended in this span before now, up to 7d",
    readSpan,
    3_600_000,
  );
}

async function show(cli: Cli, type: string, options: TypesOptions): Promise<number> {
  return await connected(cli, options, async ({ forge }, output) => {
    const found = (await forge.types.list({ spanMs: options.span })).find((each) => each.type === type);
    if (found === undefined)
      throw new NotFoundError(`There is no type ${type}: no job, policy or worker names it lately.`);
    const policy = await forge.policies.get(type);
    output.answer({ ...found, policy }, () => describe(output, found, policy));
    return exitCodes.ok;
  });
}

function describe(output: Output, type: TypeInfo, policy: Policy): string {
  const cap = policy.capMs === undefined ? "" : ` up to ${span(policy.capMs)}`;
  const lines = [
    `retries   ${policy.maxAttempts} executions, ${span(policy.baseMs)} × ${policy.factor} each time${cap}`,
    `timeout   ${policy.timeoutMs === undefined ? "none" : span(policy.timeoutMs)}`,
    `lease     ${policy.leaseMs === undefined ? "while its worker lives" : span(policy.leaseMs)}`,
    `history   ${policy.keepHistory ? `${policy.retentionDays ?? 30} days` : "none"}`,
    `policy    ${type.hasPolicy ? "its own" : "the default"}`,
    ...(type.oldestDueAt === undefined ? [] : [`oldest    due ${ago(type.oldestDueAt)}`]),
  ];
  return `${output.table([type], typeColumns)}\n${lines.join("\n")}\n`;
}
