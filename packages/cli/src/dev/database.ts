/** The database of `jobforge dev`: the given one, or an embedded PostgreSQL in the project's folder. */
import { join } from "node:path";
import { startEmbedded } from "@jobforge/embedded";
import { databaseUrl, dataFolder } from "../connection.ts";
import type { CliProcess } from "../process.ts";

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
    const url = databaseUrl({ databaseUrl: given }, cli);
    const { host, pathname } = new URL(url);
    return { url, name: `${host}${pathname}`, [Symbol.asyncDispose]: async () => undefined };
  }
  const directory = options.directory ?? join(cli.cwd?.() ?? process.cwd(), dataFolder);
  const server = await startEmbedded({ directory, onProgress });
  return {
    url: server.url,
    name: `PostgreSQL on port ${server.port}, data in ${directory}`,
    [Symbol.asyncDispose]: () => server.stop(),
  };
}
