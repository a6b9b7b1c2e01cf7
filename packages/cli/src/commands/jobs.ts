/** `jobforge jobs`: see jobs and steer them. */
import type { Command } from "commander";
import { addFamily, type Cli } from "../command.ts";
import { listCommand } from "../jobs/list.ts";
import { showCommand } from "../jobs/show.ts";

export function jobsCommands(program: Command, cli: Cli): void {
  const jobs = addFamily(program, "jobs", "See jobs and steer them");
  for (const add of [listCommand, showCommand]) add(jobs, cli);
}
