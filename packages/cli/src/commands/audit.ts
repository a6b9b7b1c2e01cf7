/** `jobforge audit`: lists the audit log. */
import { type AuditEntityType, type AuditEntry, auditEntityTypes, bounds } from "@jobforge/sdk-ts";
import { type Command, Option } from "commander";
import { action, addCommand, type Cli, type CommonOptions, connected, onDatabase } from "../command.ts";
import { exitCodes } from "../failures.ts";
import type { Column } from "../output/table.ts";
import { choice, readTenant, readText, readTime, wholeNumber } from "../output/values.ts";

interface AuditOptions extends CommonOptions {
  readonly tenant?: string;
  readonly action?: string;
  readonly entityType?: AuditEntityType;
  readonly entityId?: string;
  readonly actor?: string;
  readonly after?: Date;
  readonly before?: Date;
  readonly limit: number;
  readonly cursor?: string;
}

const columns: readonly Column<AuditEntry>[] = [
  { title: "at", value: ({ at }) => at.toISOString().replace(/\.\d+Z$/, "Z") },
  { title: "tenant", value: ({ tenantLabel }) => tenantLabel, optional: true, shrinks: "away", least: 8 },
  { title: "actor", value: ({ actor }) => actor, shrinks: true },
  { title: "action", value: ({ action: done }) => done },
  { title: "what", value: ({ entityType }) => entityType },
  { title: "which", value: ({ entityId }) => entityId, shrinks: "first" },
  { title: "details", value: detailsOf, shrinks: "first" },
];

/** The message for people, and what the entry records besides. */
function detailsOf({ message, meta }: AuditEntry): string {
  const more = JSON.stringify(meta ?? {});
  return [message ?? "", more === "{}" ? "" : more].filter((each) => each !== "").join(" ");
}

export function auditCommand(program: Command, cli: Cli): void {
  const time = (given: string): Date => readTime(given, "back");
  onDatabase(
    addCommand(program, "audit", {
      summary: "List who changed what, and permanent failures, the newest first",
      examples: [
        "jobforge audit --after 1d",
        "jobforge audit --action GATE_PAUSED --actor ada",
        "jobforge audit --entity-type job --entity-id 0199b7a4-5c1e-7d3a-9c55-0d6a2f4b8e10 --json",
      ],
    }),
  )
    .option("--tenant <id>", "entries of this tenant (default: of all tenants)", readTenant)
    .option("--action <action>", "entries with this action, such as POLICY_SET", readText)
    .addOption(
      new Option("--entity-type <type>", `entries about this: ${choice(auditEntityTypes)}`).choices(
        auditEntityTypes,
      ),
    )
    .option("--entity-id <id>", "entries about the job, type, gate … with this id", readText)
    .option("--actor <role>", "entries of this role or worker", readText)
    .option("--after <time>", "entries since a time, or a time span such as 2h", time)
    .option("--before <time>", "entries before a time, or a time span such as 2h", time)
    .option("--limit <number>", "the number of entries per page", wholeNumber("--limit", bounds.pageSize), 50)
    .option("--cursor <cursor>", "continue after a page")
    .action(action(cli, (options: AuditOptions) => list(cli, options)));
}

async function list(cli: Cli, options: AuditOptions): Promise<number> {
  const { tenant: tenantId, action: done, entityType, entityId, actor, after, before, limit } = options;
  return await connected(cli, options, async ({ forge }, output) => {
    const filters = { tenantId, action: done, entityType, entityId, actor, after, before };
    const page = await forge.audit.list({ ...filters, pageSize: limit }).page(options.cursor);
    output.list(page.items, columns, { empty: "No entries.", cursor: page.cursor });
    return exitCodes.ok;
  });
}
