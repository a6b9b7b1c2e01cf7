/** Opening a port, with what went wrong told in words. */
import type { JobForgeServer } from "@jobforge/server";
import { CommandError } from "../failures.ts";
import { readWhole } from "../output/values.ts";
import type { CliProcess } from "../process.ts";

export const usualPort = 4470;

/** How an option for a port is read. */
export function portOption(option: string): (given: string) => number {
  return (given) => readWhole(given, option, 0, 65_535);
}

/** The port that was asked for, by an option or by a variable. */
export function askedPort(
  option: number | undefined,
  { env }: CliProcess,
  variable = "PORT",
): number | undefined {
  const given = env[variable];
  if (option !== undefined || given === undefined || given === "") return option;
  return readWhole(given, variable, 0, 65_535);
}

export function listen(server: JobForgeServer, port: number, host: string): Promise<string> {
  return opened(() => server.listen({ port, host }), "--port", port, host);
}

/** What `open` answers; when the port cannot be had, an error that says which option to change. */
export async function opened<T>(
  open: () => Promise<T>,
  option: string,
  port: number,
  host: string,
): Promise<T> {
  try {
    return await open();
  } catch (error) {
    throw portTrouble(error, option, port, host) ?? error;
  }
}

function portTrouble(error: unknown, option: string, port: number, host: string): CommandError | undefined {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "EADDRINUSE")
    return new CommandError(
      "port_in_use",
      `Port ${port} of ${host} is taken.`,
      `Pass another one with ${option}; 0 takes a free one.`,
    );
  if (code === "EACCES")
    return new CommandError("port_refused", `Port ${port} may not be opened.`, "Choose one above 1023.");
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND")
    return new CommandError("no_such_host", `${host} is no address of this machine.`, "Check the host.");
  return undefined;
}
