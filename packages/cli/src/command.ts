/** Declares commands, so that all of them have the same common options and the same form of help. */
import { bounds, type JobForge } from "@jobforge/sdk-ts";
import type { Command } from "commander";
import { type Connection, type DatabaseOptions, withConnection } from "./connection.ts";
import { exitCodes } from "./failures.ts";
import { Output } from "./output/output.ts";
import type { Column } from "./output/table.ts";
import { wholeNumber } from "./output/values.ts";
import { namingRole } from "./permission.ts";
import type { CliProcess } from "./process.ts";

/** One execution of the command line. */
export interface Cli {
  readonly process: CliProcess;
  exitCode: number;
}

export interface CommonOptions extends DatabaseOptions {
  readonly json?: boolean | undefined;
}

export interface Description {
  readonly summary: string;
  /** Further sentences, shown after the summary. */
  readonly details?: string;
  readonly examples: readonly string[];
}

/** Adds a command. `usage` is its name and arguments, such as `show <id>`. Every command can print JSON. */
export function addCommand(parent: Command, usage: string, description: Description): Command {
  const { summary, details, examples } = description;
  const command = parent
    .command(usage)
    .summary(summary)
    .description(details === undefined ? `${summary}.` : `${summary}. ${details}`)
    .option("--json", "print one JSON document instead of text")
    .showHelpAfterError(false);
  return command.addHelpText("after", `\nExamples:\n${examples.map((line) => `  ${line}`).join("\n")}`);
}

/** Adds a group of commands, such as `jobs`. The group itself does nothing. */
export function addGroup(parent: Command, name: string, summary: string): Command {
  return parent.command(name).summary(summary).description(`${summary}.`);
}

/** Returns the command that the arguments name, such as `jobforge schedules add`, so that its help can be read. */
export function commandNamed(program: Command, args: readonly string[]): string {
  const names = [program.name()];
  let current = program;
  for (const word of args) {
    const next = current.commands.find((each) => each.name() === word);
    if (next === undefined) break;
    names.push(word);
    current = next;
  }
  return names.join(" ");
}

/**
 * Returns the arguments with `--help` in place of `help`, so that `help jobs list` shows what `jobs list --help` does.
 * A command that does not exist has no help: the help of its group would hide the mistake.
 */
export function helpAsOption(program: Command, args: readonly string[]): readonly string[] {
  let current = program;
  for (const [index, word] of args.entries()) {
    if (current.commands.length === 0 || word.startsWith("-")) break;
    if (word === "help") {
      const named = args.slice(index + 1).filter((each) => each !== "help" && !isHelp(each));
      return helpAsOption(program, [...args.slice(0, index), ...named, "--help"]);
    }
    const next = current.commands.find((each) => each.name() === word);
    if (next === undefined) return args.filter((each) => !isHelp(each));
    current = next;
  }
  return args;
}

function isHelp(word: string): boolean {
  return word === "--help" || word === "-h";
}

/** Adds the options of a command that needs a database. */
export function onDatabase(command: Command): Command {
  return command
    .option(
      "--database-url <url>",
      "the database (default: DATABASE_URL, else the database of jobforge dev in this directory)",
    )
    .option(
      "--api-schema <name>",
      "the schema of JobForge's functions (default: JOBFORGE_API_SCHEMA, else public)",
    );
}

/** Adds the options of a list that is read as a whole and shown in pages. */
export function withPages(command: Command, what: string): Command {
  return command
    .option("--limit <number>", `the number of ${what} per page`, wholeNumber("--limit", bounds.pageSize), 50)
    .option(
      "--cursor <cursor>",
      "continue after a page",
      wholeNumber("--cursor", { min: 0, max: 1_000_000_000 }),
    );
}

/** Wraps the action of a command. The action returns the exit code, or undefined for 0. */
export function action<Args extends unknown[]>(
  cli: Cli,
  run: (...args: Args) => Promise<number | undefined>,
): (...args: Args) => Promise<void> {
  return async (...args) => {
    cli.exitCode = (await run(...args)) ?? 0;
  };
}

export function outputOf(cli: Cli, options: CommonOptions): Output {
  return new Output(cli.process, options.json ?? false);
}

/** Connects to the database and does the work of a command. If the login may not do it, names the role it needs. */
export function connected<T>(
  cli: Cli,
  options: CommonOptions,
  work: (connection: Connection, output: Output) => Promise<T>,
): Promise<T> {
  return withConnection(options, cli.process, async (connection) => {
    try {
      return await work(connection, outputOf(cli, options));
    } catch (error) {
      throw await namingRole(error, connection);
    }
  });
}

/** Returns the action of a command that lists all items of one kind. */
export function listing<Row, Options extends CommonOptions>(
  cli: Cli,
  columns: readonly Column<Row>[],
  empty: string,
  read: (forge: JobForge, options: Options) => Promise<readonly Row[]>,
): (options: Options) => Promise<void> {
  return action(cli, (options: Options) =>
    connected(cli, options, async ({ forge }, output) => {
      output.list(await read(forge, options), columns, { empty });
      return exitCodes.ok;
    }),
  );
}
