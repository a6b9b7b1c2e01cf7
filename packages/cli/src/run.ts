/** The `jobforge` command. Exit codes: 0 ok, 1 failed or problem found, 2 usage, 3 no connection, 4 not found. */
import { CommanderError } from "commander";
import { type Cli, commandNamed, helpAsOption } from "./command.ts";
import { exitCodes, explainFailure } from "./failures.ts";
import { asTyped } from "./invocation.ts";
import { shownOn } from "./output/terminal.ts";
import type { CliProcess } from "./process.ts";
import { createProgram } from "./program.ts";

export async function runCli(args: readonly string[], process: CliProcess): Promise<number> {
  const cli: Cli = { process, exitCode: exitCodes.ok };
  const program = createProgram(cli);
  try {
    await program.parseAsync(helpAsOption(program, args), { from: "user" });
    return cli.exitCode;
  } catch (error) {
    const shown = helpShown(error);
    if (shown !== undefined) return shown;
    const failure = explainFailure(error, commandNamed(program, args));
    const text = args.includes("--json")
      ? `${JSON.stringify({ error: failure })}\n`
      : asTyped(`${failure.message}\n${failure.hint ? `${failure.hint}\n` : ""}`, process);
    process.stderr.write(shownOn(process.stderr, text));
    return failure.exitCode;
  }
}

/**
 * Returns the exit code if commander threw only because it printed the help or the version: on request, or because no
 * command was given.
 */
function helpShown(error: unknown): number | undefined {
  if (!(error instanceof CommanderError)) return undefined;
  if (error.code === "commander.help") return exitCodes.usage;
  return error.code === "commander.helpDisplayed" || error.code === "commander.version"
    ? exitCodes.ok
    : undefined;
}
