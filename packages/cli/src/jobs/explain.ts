/** `jobforge jobs explain`: shows why a job is not running, or how it finished. */
import type { Command } from "commander";
import { action, addCommand, type Cli, type CommonOptions, connected, onDatabase } from "../command.ts";
import { reasonLines } from "../output/reasons.ts";
import { readTenant } from "../output/values.ts";
import { findJob } from "./find.ts";

interface ExplainOptions extends CommonOptions {
  readonly tenant?: string;
}

export function explainCommand(jobs: Command, cli: Cli): void {
  onDatabase(
    addCommand(jobs, "explain <id>", {
      summary: "Show why a job is not running, the first obstacle first",
      examples: [
        "jobforge jobs explain 0199b7a4-5c1e-7d3a-9c55-0d6a2f4b8e10",
        "jobforge jobs explain 0199b7a4-5c1e-7d3a-9c55-0d6a2f4b8e10 --json",
      ],
    }),
  )
    .option("--tenant <id>", "the tenant of the job (default: found by the id, for operators)", readTenant)
    .action(action(cli, (id: string, options: ExplainOptions) => explain(cli, id, options)));
}

async function explain(cli: Cli, id: string, options: ExplainOptions): Promise<undefined> {
  await connected(cli, options, async (connection, output) => {
    const { tenantId } = await findJob(connection, id, options.tenant);
    const reasons = (await connection.forge.explain(id, { tenantId })) ?? [];
    output.result({ items: reasons, cursor: null }, () =>
      reasons.length === 0 ? "Nothing blocks the job.\n" : reasonLines(output, reasons),
    );
  });
}
