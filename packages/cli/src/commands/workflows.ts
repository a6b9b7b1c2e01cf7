/** `jobforge workflows`: starts, lists, shows and steers workflows. */
import type { Command } from "commander";
import { addGroup, type Cli } from "../command.ts";
import { explainCommand } from "../workflows/explain.ts";
import { listCommand } from "../workflows/list.ts";
import { resolveCommand } from "../workflows/resolve.ts";
import { showCommand } from "../workflows/show.ts";
import { startCommand } from "../workflows/start.ts";
import { cancelCommand, retryCommand, signalCommand } from "../workflows/steer.ts";

export function workflowsCommands(program: Command, cli: Cli): void {
  const workflows = addGroup(program, "workflows", "Start, list and steer workflows");
  for (const add of [
    startCommand,
    listCommand,
    showCommand,
    explainCommand,
    cancelCommand,
    retryCommand,
    resolveCommand,
    signalCommand,
  ])
    add(workflows, cli);
}
