/** `jobforge schedules`: lists, adds and steers recurring work, and shows when it runs next. */
import type { Command } from "commander";
import { addGroup, type Cli } from "../command.ts";
import { addScheduleCommand } from "../schedules/add.ts";
import { listCommand } from "../schedules/list.ts";
import { nextCommand } from "../schedules/next.ts";
import { steerCommands } from "../schedules/steer.ts";

export function schedulesCommands(program: Command, cli: Cli): void {
  const schedules = addGroup(program, "schedules", "List and steer recurring work");
  for (const add of [listCommand, addScheduleCommand, steerCommands, nextCommand]) add(schedules, cli);
}
