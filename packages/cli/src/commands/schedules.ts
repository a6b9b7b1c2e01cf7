/** `jobforge schedules`: lists, counts, adds, changes and deletes recurring work, and shows when it runs next. */
import type { Command } from "commander";
import { addGroup, type Cli } from "../command.ts";
import { addScheduleCommand } from "../schedules/add.ts";
import { countCommand } from "../schedules/count.ts";
import { deleteCommand } from "../schedules/delete.ts";
import { listCommand } from "../schedules/list.ts";
import { nextCommand } from "../schedules/next.ts";
import { showCommand } from "../schedules/show.ts";
import { steerCommands } from "../schedules/steer.ts";
import { updateCommand } from "../schedules/update.ts";

const commands = [
  ...[listCommand, countCommand, showCommand, nextCommand],
  ...[addScheduleCommand, updateCommand, steerCommands, deleteCommand],
];

export function schedulesCommands(program: Command, cli: Cli): void {
  const schedules = addGroup(program, "schedules", "List and steer recurring work");
  for (const add of commands) add(schedules, cli);
}
