/**
 * Protects databases on other machines from `jobforge dev`, which migrates its database, opens a server for operators
 * and runs jobs. A DATABASE_URL that was exported for another purpose is enough to reach one.
 */
import { isIP } from "node:net";
import { targetOf } from "../client.ts";
import { CommandError, UsageError } from "../failures.ts";
import { ask } from "../output/confirm.ts";
import type { CliProcess } from "../process.ts";

export interface RemoteOptions {
  readonly allowRemote?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/** Resolves if the database is on this machine, or if the user allows another one: by --allow-remote or by typing. */
export async function requireLocal(url: string, options: RemoteOptions, cli: CliProcess): Promise<void> {
  const { host, database } = targetOf(url);
  if (options.allowRemote || isLocal(host)) return;
  const warning =
    `The database "${database}" on ${host} is not on this machine. ` +
    "This command would migrate it, open a server for operators on it, and run its jobs here.";
  if (options.json || cli.stdin?.isTTY !== true)
    throw new UsageError(`${warning} Pass --allow-remote if that is what you want, or unset DATABASE_URL.`);
  const reply = await ask(`${warning}\nType the name of the database to continue: `, cli);
  if (reply !== database) throw new CommandError("declined", "Nothing was changed.", "");
}

/** Whether a host is this machine: a name or an address of the loopback interface, or the path of a socket. */
export function isLocal(host: string): boolean {
  if (host === "" || host.startsWith("/")) return true;
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, "$1");
  if (isIP(name) === 4) return name.startsWith("127.");
  return name === "localhost" || name.endsWith(".localhost") || /^(0*:)*:?0*1$/.test(name);
}
