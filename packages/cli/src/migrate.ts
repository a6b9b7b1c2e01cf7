/** `jobforge migrate`: applies, previews or prints the migrations. */
import { parseArgs } from "node:util";
import { migrate, migrationScript, migrationStatus } from "@jobforge/sql";
import { UsageError } from "./failures.ts";
import type { CliProcess } from "./index.ts";

const help = `Usage: jobforge migrate [options]

Brings a database to this version of JobForge. Safe to run from many processes at once.

Options:
  --database-url URL   The database (default: DATABASE_URL). Its role must own the database and may create roles.
  --api-schema NAME    Where functions and views go (default: where they are, else public)
  --status             Show what is installed and what is pending; exit code 1 when something is
  --print              Print the SQL of a first installation instead of running anything
  --json               Machine-readable output

Examples:
  jobforge migrate --database-url postgres://me@localhost/app
  jobforge migrate --status --json
  jobforge migrate --print --api-schema jobs > install.sql
`;

export async function migrateCommand(args: string[], process: CliProcess): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      "database-url": { type: "string" },
      "api-schema": { type: "string" },
      status: { type: "boolean", default: false },
      print: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(help);
    return 0;
  }
  if (values.print) {
    process.stdout.write(migrationScript(values["api-schema"]));
    return 0;
  }
  const database = databaseUrl(values["database-url"] ?? process.env["DATABASE_URL"]);
  const apiSchema = values["api-schema"];
  const print = (document: unknown, text: string): void =>
    void process.stdout.write(values.json ? `${JSON.stringify(document)}\n` : text);
  if (values.status) {
    const status = await migrationStatus({ database, apiSchema });
    print(status, describeStatus(status));
    return status.upToDate ? 0 : 1;
  }
  const onProgress = values.json ? undefined : (message: string) => void process.stderr.write(`${message}\n`);
  const result = await migrate({ database, apiSchema, onProgress });
  const changed = result.refreshed ? "is now at" : "was already at";
  print(result, `The database ${changed} JobForge ${result.version} (API schema "${result.apiSchema}").\n`);
  return 0;
}

function databaseUrl(given: string | undefined): string {
  if (given === undefined || given === "") {
    throw new UsageError("No database: pass --database-url or set DATABASE_URL.");
  }
  if (!/^postgres(ql)?:\/\//.test(given)) {
    throw new UsageError("The database URL must start with postgres:// or postgresql://.");
  }
  if (!isReadable(given)) {
    throw new UsageError(
      "The database URL cannot be read. Percent-encode special characters of its password.",
    );
  }
  return given;
}

function isReadable(url: string): boolean {
  try {
    const { username, password, pathname } = new URL(url);
    return [username, password, pathname].map(decodeURIComponent).length > 0;
  } catch {
    return false;
  }
}

function describeStatus(status: Awaited<ReturnType<typeof migrationStatus>>): string {
  const installed =
    status.installedVersion === null ? "not installed" : `JobForge ${status.installedVersion}`;
  const pending =
    status.pending.length > 0 ? status.pending.join(", ") : status.upToDate ? "none" : "functions and views";
  return `Installed:  ${installed}\nThis is:    JobForge ${status.version}\nAPI schema: ${status.apiSchema}\nPending:    ${pending}\n`;
}
