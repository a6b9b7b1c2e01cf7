/** `jobforge workflows list`: lists the workflows of a tenant. */
import { bounds, type Workflow, type WorkflowStatus, workflowStatuses } from "@jobforge/sdk-ts";
import type { Command } from "commander";
import { action, addCommand, type Cli, type CommonOptions, connected, onDatabase } from "../command.ts";
import { exitCodes, UsageError } from "../failures.ts";
import { toneOf } from "../output/style.ts";
import type { Column } from "../output/table.ts";
import { ago, choice, collect, readTenant, readText, span, wholeNumber } from "../output/values.ts";

interface ListOptions extends CommonOptions {
  readonly tenant: string;
  readonly status?: string[];
  readonly name?: string[];
  readonly subject?: string;
  readonly limit: number;
  readonly cursor?: string;
}

const columns: readonly Column<Workflow>[] = [
  { title: "id", value: ({ id }) => id, shrinks: true, cut: "start" },
  { title: "name", value: ({ name }) => name, shrinks: true },
  { title: "status", value: ({ status }) => status, tone: ({ status }) => toneOf(status) },
  { title: "steps", value: ({ stepCount }) => stepCount, align: "right" },
  { title: "started", value: ({ createdAt }) => ago(createdAt) },
  {
    title: "took",
    value: ({ createdAt, finishedAt }) =>
      finishedAt === undefined ? undefined : span(finishedAt.getTime() - createdAt.getTime()),
    align: "right",
    shrinks: "away",
  },
  { title: "subject", value: ({ subject }) => subject, optional: true, shrinks: "first" },
];

export function listCommand(workflows: Command, cli: Cli): void {
  onDatabase(
    addCommand(workflows, "list", {
      summary: "List the workflows of a tenant, newest first",
      examples: ["jobforge workflows list --tenant org_123 --status failed"],
    }),
  )
    .requiredOption("--tenant <id>", "the tenant, such as org_123 or a UUID", readTenant)
    .option("--status <status>", `workflows in this state: ${choice(workflowStatuses)}`, collect)
    .option("--name <name>", "workflows of this name; repeat the option or separate names by commas", collect)
    .option("--subject <text>", "workflows about this subject", readText)
    .option(
      "--limit <number>",
      "the number of workflows per page",
      wholeNumber("--limit", bounds.pageSize),
      50,
    )
    .option("--cursor <cursor>", "continue after a page")
    .action(action(cli, (options: ListOptions) => list(cli, options)));
}

async function list(cli: Cli, options: ListOptions): Promise<number> {
  const { tenant: tenantId, name, subject, limit: pageSize } = options;
  const status = options.status?.map(readStatus);
  return await connected(cli, options, async ({ forge }, output) => {
    const page = await forge.workflows
      .list({ tenantId, status, name, subject, pageSize })
      .page(options.cursor);
    output.list(page.items, columns, { empty: "No workflows.", cursor: page.cursor });
    return exitCodes.ok;
  });
}

function readStatus(given: string): WorkflowStatus {
  const found = workflowStatuses.find((each) => each === given);
  if (found === undefined)
    throw new UsageError(`"${given}" is not a status of a workflow. Use ${choice(workflowStatuses)}.`);
  return found;
}
