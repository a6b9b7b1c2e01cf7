/** The `jobforge` command. Exit codes: 0 ok, 1 failed, 2 usage, 3 no connection. */
import { demoCommand } from "./demo.ts";
import { explainFailure, UsageError } from "./failures.ts";
import { migrateCommand } from "./migrate.ts";

/** What a command needs of its process; tests pass their own. */
export interface CliProcess {
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
  readonly env: Readonly<Record<string, string | undefined>>;
}

export type Command = (args: string[], process: CliProcess) => Promise<number>;

const commands: Readonly<Record<string, Command>> = { migrate: migrateCommand, demo: demoCommand };

const help = `Usage: jobforge <command> [options]

Commands:
  migrate   Bring a database to this version of JobForge
  demo      Start an embedded Postgres, run a few jobs and show what became of them

Run jobforge <command> --help for its options.
`;

export async function runCli(args: readonly string[], process: CliProcess): Promise<number> {
  const [name = "", ...rest] = args;
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  try {
    if (command) return await command(rest, process);
    if (name !== "" && name !== "--help" && name !== "-h" && name !== "help") {
      throw new UsageError(`There is no command "${name}".`);
    }
    process.stdout.write(help);
    return name === "" ? 2 : 0;
  } catch (error) {
    const failure = explainFailure(error);
    const json = rest.includes("--json");
    process.stderr.write(
      json
        ? `${JSON.stringify({ error: failure })}\n`
        : `${failure.message}\n${failure.hint ? `${failure.hint}\n` : ""}`,
    );
    return failure.exitCode;
  }
}
