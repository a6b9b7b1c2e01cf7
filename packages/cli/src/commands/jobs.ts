/** `jobforge jobs`: shows and steers jobs. */
import type { Command } from "commander";
import { addGroup, type Cli } from "../command.ts";
import { explainCommand } from "../jobs/explain.ts";
import { exportCommand } from "../jobs/export.ts";
import { listCommand } from "../jobs/list.ts";
import { showCommand } from "../jobs/show.ts";
import { cancelCommand, retryCommand } from "../jobs/steer.ts";
import { tailCommand } from "../jobs/tail.ts";

export function jobsCommands(program: Command, cli: Cli): void {
  const jobs = addGroup(program, "jobs", "Show and steer jobs");
  const commands = [
    listCommand,
    showCommand,
    explainCommand,
    tailCommand,
    cancelCommand,
    retryCommand,
    exportCommand,
  ];
  for (const add of commands) add(jobs, cli);
}
