/** Finds the database of a command, and connects to it for as long as the command runs. */
import { join } from "node:path";
import { JobForge } from "@jobforge/sdk-ts";
import type pg from "pg";
import { createPool } from "./client.ts";
import { loadEmbedded } from "./dev/embedded.ts";
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

/** The directory where `jobforge dev` stores its database. */
export const dataFolder = ".jobforge";

export async function databaseUrl(options: DatabaseOptions, cli: CliProcess): Promise<string> {
  const given = options.databaseUrl ?? nonEmpty(cli.env["DATABASE_URL"]) ?? (await runningHere(cli));
  if (given === undefined || given === "") {
    throw new UsageError(
      "No database is given. Pass --database-url, set DATABASE_URL, or run jobforge dev in another terminal.",
    );
  }
  if (!/^postgres(ql)?:\/\//.test(given)) {
    throw new UsageError("The database URL must start with postgres:// or postgresql://.");
  }
  if (!isReadable(given)) {
    throw new UsageError(
      "The database URL is not a valid URL. Percent-encode special characters in its password.",
    );
  }
  return given;
}

/** Returns the database of a `jobforge dev` in the same directory, so that other terminals need no option. */
async function runningHere(cli: CliProcess): Promise<string | undefined> {
  const directory = join(cli.cwd?.() ?? process.cwd(), dataFolder);
  try {
    return (await loadEmbedded())?.findEmbedded({ directory })?.url;
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

/** Connects, does the work and closes the connection. */
export async function withConnection<T>(
  options: DatabaseOptions,
  cli: CliProcess,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const url = await databaseUrl(options, cli);
  const schema = apiSchema(options, cli);
  const pool = createPool(url);
  const forge = new JobForge({ database: pool, schema });
  try {
    return await work({ forge, pool, schema, url });
  } finally {
    await forge.close();
    await pool.end();
  }
}
