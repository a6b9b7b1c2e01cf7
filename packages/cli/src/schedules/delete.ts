/** `jobforge schedules delete`: deletes one schedule. */
import { defineJob } from "@jobforge/sdk-ts";
import type { Command } from "commander";
import { action, addCommand, type Cli, connected } from "../command.ts";
import { exitCodes } from "../failures.ts";
import { confirm } from "../output/confirm.ts";
import { plain } from "../output/terminal.ts";
import { type OneOptions, ofOne } from "./one.ts";

interface DeleteOptions extends OneOptions {
  readonly yes?: boolean;
}

export function deleteCommand(schedules: Command, cli: Cli): void {
  ofOne(
    addCommand(schedules, "delete <type> <key>", {
      summary: "Delete a schedule; a run that has started ends as usual",
      details: "A run that waits is removed from the queue. To stop a schedule for a while, disable it.",
      examples: ["jobforge schedules delete report.build weekly --yes"],
    }),
  )
    .option("--yes", "do not ask for confirmation")
    .action(
      action(cli, (type: string, key: string, options: DeleteOptions) =>
        connected(cli, options, async ({ forge }, output) => {
          const { tenant: tenantId } = options;
          if ((await forge.schedules.get(defineJob({ type }), key, { tenantId })) !== undefined)
            await confirm(`This deletes the schedule ${plain(`${type} ${key}`)}.`, options.yes, cli.process);
          await forge.schedules.delete(defineJob({ type }), key, { tenantId });
          output.result(
            { type, key, tenantId, deleted: true },
            () => `${plain(`${type} ${key}`)}: deleted.\n`,
          );
          return exitCodes.ok;
        }),
      ),
    );
}
