/** `jobforge migrate`: applies the migrations, shows their status or prints their SQL. */
import { migrate, migrationScript, migrationStatus } from "@jobforge/sql";
import type { Command } from "commander";
import type { ClientBase } from "pg";
import { withClient } from "../client.ts";
import { action, addCommand, type Cli, type CommonOptions, outputOf } from "../command.ts";
import { databaseUrl } from "../connection.ts";
import { exitCodes } from "../failures.ts";

interface MigrateOptions extends CommonOptions {
  readonly status?: boolean;
  readonly print?: boolean;
}

export function migrateCommand(program: Command, cli: Cli): void {
  addCommand(program, "migrate", {
    summary: "Migrate a database to this version of JobForge",
    details: "Any number of processes may run it at once.",
    examples: [
      "jobforge migrate --database-url postgres://me@localhost/app",
      "jobforge migrate --status --json",
      "jobforge migrate --print --api-schema jobs > install.sql",
    ],
  })
    .option(
      "--database-url <url>",
      "the database (default: DATABASE_URL); the role must own it and be allowed to create roles",
    )
    .option(
      "--api-schema <name>",
      "the schema for functions and views (default: their present schema, else public)",
    )
    .option("--status", "show what is installed and what is pending; exit code 1 if anything is pending")
    .option("--print", "print the SQL of a first installation, without running it")
    .action(action(cli, (options: MigrateOptions) => runMigrate(cli, options)));
}

async function runMigrate(cli: Cli, options: MigrateOptions): Promise<number> {
  const output = outputOf(cli, options);
  const { apiSchema } = options;
  if (options.print) {
    await output.raw(migrationScript(apiSchema));
    return exitCodes.ok;
  }
  const url = await databaseUrl(options, cli.process);
  const connected = <T>(work: (database: ClientBase) => Promise<T>): Promise<T> =>
    withClient(url, work, "jobforge-migrate");
  if (options.status) {
    const status = await connected((database) => migrationStatus({ database, apiSchema }));
    output.result(status, () => describeStatus(status));
    return status.upToDate ? exitCodes.ok : exitCodes.failed;
  }
  const onProgress = (message: string): void => output.remark(message);
  const result = await connected((database) => migrate({ database, apiSchema, onProgress }));
  const changed = result.refreshed ? "is now at" : "was already at";
  output.result(
    result,
    () => `The database ${changed} JobForge ${result.version} (API schema "${result.apiSchema}").\n`,
  );
  return exitCodes.ok;
}

function describeStatus(status: Awaited<ReturnType<typeof migrationStatus>>): string {
  const installed =
    status.installedVersion === null ? "not installed" : `JobForge ${status.installedVersion}`;
  const pending =
    status.pending.length > 0 ? status.pending.join(", ") : status.upToDate ? "none" : "functions and views";
  return [
    `Installed:  ${installed}`,
    `This is:    JobForge ${status.version}`,
    `API schema: ${status.apiSchema}`,
    `Pending:    ${pending}`,
    "",
  ].join("\n");
}
