/** `jobforge workflows explain`: shows what a workflow waits for, or how it ended. */
import type { Command } from "commander";
import { action, addCommand, type Cli, connected } from "../command.ts";
import { exitCodes } from "../failures.ts";
import { reasonLines } from "../output/reasons.ts";
import { findWorkflow, type OneOptions, ofOne } from "./find.ts";

export function explainCommand(workflows: Command, cli: Cli): void {
  ofOne(
    addCommand(workflows, "explain <id>", {
      summary: "Show what a workflow waits for, or how it ended",
      examples: [
        "jobforge workflows explain 0199b7a4-5c1e-7d3a-9c55-0d6a2f4b8e10",
        "jobforge workflows explain 0199b7a4-5c1e-7d3a-9c55-0d6a2f4b8e10 --json",
      ],
    }),
  ).action(
    action(cli, (id: string, options: OneOptions) =>
      connected(cli, options, async (connection, output) => {
        const { tenantId } = await findWorkflow(connection, id, options.tenant);
        const reasons = (await connection.forge.workflows.explain(id, { tenantId })) ?? [];
        output.result({ items: reasons, cursor: null }, () => reasonLines(output, reasons));
        return exitCodes.ok;
      }),
    ),
  );
}
