/** Which database a command means, and a connection to it for as long as the command lasts. */
import { join } from "node:path";
import { findEmbedded } from "@jobforge/embedded";
import { JobForge } from "@jobforge/sdk-ts";
import pg from "pg";
import { UsageError } from "./failures.ts";
import type { CliProcess } from "./process.ts";

export interface DatabaseOptions {
  readonly databaseUrl?: string | undefined;
  readonly apiSchema?: string | undefined;
}

export interface Connection {
  readonly forge: JobForge;
  readonly pool: pg.Pool;
  readonly schema: string;
  readonly url: string;
}

/** Where `jobforge dev` keeps its database. */
export const dataFolder = ".jobforge";

export function databaseUrl(options: DatabaseOptions, cli: CliProcess): string {
  const given = options.databaseUrl ?? nonEmpty(cli.env["DATABASE_URL"]) ?? runningHere(cli);
  if (given === undefined || given === "") {
    throw new UsageError(
      "No database: pass --database-url or set DATABASE_URL. Without a Postgres of your own, run jobforge dev beside this.",
    );
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

/** The database of a `jobforge dev` in the same directory, so that the next terminal finds it without a word. */
function runningHere(cli: CliProcess): string | undefined {
  const directory = join(cli.cwd?.() ?? process.cwd(), dataFolder);
  try {
    return findEmbedded({ directory })?.url;
  } catch {
    return undefined;
  }
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}

function isReadable(url: string): boolean {
  try {
    const { username, password, pathname } = new URL(url);
    return [username, password, pathname].map(decodeURIComponent).length > 0;
  } catch {
    return false;
  }
}

export function apiSchema(options: DatabaseOptions, cli: CliProcess): string {
  return options.apiSchema ?? nonEmpty(cli.env["JOBFORGE_API_SCHEMA"]) ?? "public";
}

/** Connects, does the work, and leaves nothing open. */
export async function withConnection<T>(
  options: DatabaseOptions,
  cli: CliProcess,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const url = databaseUrl(options, cli);
  const schema = apiSchema(options, cli);
  const pool = new pg.Pool({
    connectionString: url,
    application_name: "jobforge-cli",
    connectionTimeoutMillis: 10_000,
    max: 4,
  });
  // A connection that dies idle is met by the next call.
  pool.on("error", () => undefined);
  const forge = new JobForge({ database: pool, schema });
  try {
    return await work({ forge, pool, schema, url });
  } finally {
    await forge.close();
    await pool.end();
  }
}
