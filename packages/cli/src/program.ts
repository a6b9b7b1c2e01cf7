/** All commands. To add a command or a group of commands, add a file in commands/ and a line here. */
import { version } from "@jobforge/sql";
import { Command } from "commander";
import type { Cli } from "./command.ts";
import { auditCommand } from "./commands/audit.ts";
import { deadCommands } from "./commands/dead.ts";
import { devCommand } from "./commands/dev.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { enqueueCommand } from "./commands/enqueue.ts";
import { gatesCommands } from "./commands/gates.ts";
import { importCommand } from "./commands/import.ts";
import { jobsCommands } from "./commands/jobs.ts";
import { limitsCommands } from "./commands/limits.ts";
import { migrateCommand } from "./commands/migrate.ts";
import { moveCommand } from "./commands/move.ts";
import { policiesCommands } from "./commands/policies.ts";
import { schedulesCommands } from "./commands/schedules.ts";
import { serverCommand } from "./commands/server.ts";
import { statsCommand } from "./commands/stats.ts";
import { syncCommand } from "./commands/sync.ts";
import { tenantsCommands } from "./commands/tenants.ts";
import { tokenCommands } from "./commands/token.ts";
import { typesCommands } from "./commands/types.ts";
import { urlCommand } from "./commands/url.ts";
import { usageCommand } from "./commands/usage.ts";
import { webhooksCommands } from "./commands/webhooks.ts";
import { tickCommand, workerCommand } from "./commands/worker.ts";
import { workersCommand } from "./commands/workers.ts";
import { workflowsCommands } from "./commands/workflows.ts";
import { helpAsTyped } from "./invocation.ts";

const commands: readonly ((program: Command, cli: Cli) => void)[] = [
  devCommand,
  urlCommand,
  migrateCommand,
  syncCommand,
  workerCommand,
  serverCommand,
  tickCommand,
  enqueueCommand,
  jobsCommands,
  deadCommands,
  schedulesCommands,
  workflowsCommands,
  webhooksCommands,
  typesCommands,
  policiesCommands,
  limitsCommands,
  gatesCommands,
  tenantsCommands,
  moveCommand,
  workersCommand,
  statsCommand,
  usageCommand,
  auditCommand,
  tokenCommands,
  importCommand,
  doctorCommand,
];

export function createProgram(cli: Cli): Command {
  const { stdout } = cli.process;
  const program = new Command("jobforge")
    .description("Background jobs that live in Postgres.")
    .version(version, "-v, --version", "show the version")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void stdout.write(helpAsTyped(text, cli.process)),
      writeErr: (text) => void stdout.write(helpAsTyped(text, cli.process)),
      // Errors are thrown, and runCli reports them.
      outputError: () => undefined,
      getOutHelpWidth: () => stdout.columns || 100,
      getErrHelpWidth: () => stdout.columns || 100,
    })
    .addHelpText(
      "after",
      `
Run jobforge <command> --help for options and examples.
Exit codes: 0 ok, 1 failed or problem found, 2 wrong usage, 3 no connection, 4 not found.`,
    );
  for (const add of commands) add(program, cli);
  return program;
}
