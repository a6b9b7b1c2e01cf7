/** `jobforge workflows resolve`: ends a step by hand, after a person has repaired what it should have done. */
import type { Command } from "commander";
import { action, addCommand, type Cli, connected } from "../command.ts";
import { exitCodes, UsageError } from "../failures.ts";
import { readPayload } from "../jobs/payload.ts";
import { plain } from "../output/terminal.ts";
import { findWorkflow, type OneOptions, ofOne } from "./find.ts";

interface ResolveOptions extends OneOptions {
  readonly skip?: boolean;
}

export function resolveCommand(workflows: Command, cli: Cli): void {
  ofOne(
    addCommand(workflows, "resolve <id> <step> [result]", {
      summary: "End a step by hand that ended badly",
      details:
        "The step succeeds with the result, which is JSON, @file, or - for standard input. " +
        "What was canceled because of the step runs.",
      examples: [
        `jobforge workflows resolve 0199b7a4-5c1e-7d3a-9c55-0d6a2f4b8e10 charge '{"paymentId": "p1"}'`,
        "jobforge workflows resolve 0199b7a4-5c1e-7d3a-9c55-0d6a2f4b8e10 each[17] --skip",
      ],
    }),
  )
    .option("--skip", "the step is skipped, and so are the steps that need its success")
    .action(
      action(cli, async (id: string, step: string, given: string | undefined, options: ResolveOptions) => {
        const status = options.skip === true ? "skipped" : "succeeded";
        if (options.skip === true && given !== undefined)
          throw new UsageError("A step that is skipped has no result. Leave out the result or --skip.");
        const result = given === undefined ? undefined : await readPayload(cli, given);
        return await connected(cli, options, async (connection, output) => {
          const { tenantId } = await findWorkflow(connection, id, options.tenant);
          await connection.forge.workflows.resolve(id, step, { tenantId, status, result });
          output.result({ id, step, status }, () => `${plain(step)} of ${id} is ${status}.\n`);
          return exitCodes.ok;
        });
      }),
    );
}
