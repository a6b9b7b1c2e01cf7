/** `jobforge types`: lists the types, and shows the numbers and the policy of one type. */
import { bounds, type Policy, type TypeInfo } from "@jobforge/sdk-ts";
import { type Command, Option } from "commander";
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
import { exitCodes, NotFoundError } from "../failures.ts";
import type { Output } from "../output/output.ts";
import { policyLines } from "../output/policy.ts";
import type { Column } from "../output/table.ts";
import { ago, count, estimate, readSpan, span } from "../output/values.ts";

interface TypesOptions extends CommonOptions {
  readonly span: number;
}

const number = (title: string, value: (type: TypeInfo) => number | string): Column<TypeInfo> => ({
  title,
  value,
  align: "right",
});
const failures = (type: TypeInfo): number => type.failed + type.dead;

export const typeColumns: readonly Column<TypeInfo>[] = [
  { title: "type", value: (type) => type.type, shrinks: true },
  number("due", (type) => estimate(type.due, type.exact)),
  number("scheduled", (type) => estimate(type.scheduled, type.exact)),
  { ...number("running", (type) => type.running), tone: (type) => (type.running > 0 ? "cyan" : undefined) },
  number("succeeded", (type) => type.succeeded),
  { ...number("failed", failures), tone: (type) => (failures(type) > 0 ? "red" : undefined) },
  { title: "wait", value: (type) => milliseconds(type.waitMs), align: "right", shrinks: "away" },
  { title: "run", value: (type) => milliseconds(type.runMs), align: "right", shrinks: "away" },
  {
    ...number("workers", (type) => type.workers),
    tone: (type) => (type.workers === 0 && type.due > 0 ? "red" : undefined),
  },
  { title: "", value: stateOf, tone: () => "yellow", shrinks: "first" },
];

function stateOf({ paused, dueSchedules }: TypeInfo): string {
  const overdue = dueSchedules === 0 ? [] : [`${count(dueSchedules, "schedule")} overdue`];
  return [...(paused ? ["paused"] : []), ...overdue].join(", ");
}

function milliseconds(value: number | undefined): string {
  return value === undefined ? "" : span(value);
}

export function typesCommands(program: Command, cli: Cli): void {
  const types = addGroup(program, "types", "Show the types of jobs");
  withSpan(
    addCommand(types, "list", {
      summary: "List types with the numbers of waiting, running and recently finished jobs",
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
  const { default: usual, max } = bounds.typeSpanMs;
  return onDatabase(command).addOption(
    new Option("--span <span>", `count jobs that finished in this time span before now, up to ${span(max)}`)
      .argParser(readSpan)
      .default(usual, span(usual)),
  );
}

async function show(cli: Cli, type: string, options: TypesOptions): Promise<number> {
  return await connected(cli, options, async ({ forge }, output) => {
    const found = (await forge.types.list({ spanMs: options.span })).find((each) => each.type === type);
    if (found === undefined)
      throw new NotFoundError(`There is no type ${type}: no job, policy or worker has used it recently.`);
    const policy = await forge.policies.get(type);
    output.result({ ...found, policy }, () => describe(output, found, policy));
    return exitCodes.ok;
  });
}

function describe(output: Output, type: TypeInfo, policy: Policy): string {
  const lines = [
    ...policyLines(policy),
    `policy    ${type.hasPolicy ? "its own" : "default"}`,
    ...(type.oldestDueAt === undefined ? [] : [`oldest    due ${ago(type.oldestDueAt)}`]),
  ];
  return `${output.table([type], typeColumns)}\n${lines.join("\n")}\n`;
}
