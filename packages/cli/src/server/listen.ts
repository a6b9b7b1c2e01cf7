/** Opens ports and explains failures to do so. */
import type { JobForgeServer } from "@jobforge/server";
import { CommandError } from "../failures.ts";
import { wholeNumber } from "../output/values.ts";
import type { CliProcess } from "../process.ts";

export const usualPort = 4470;
const ports = { min: 0, max: 65_535 };

/** Returns a parser for the value of an option that is a port. */
export function portOption(option: string): (given: string) => number {
  return wholeNumber(option, ports);
}

/** Returns the port given by an option or an environment variable, if any. */
export function askedPort(
  option: number | undefined,
  { env }: CliProcess,
  variable = "PORT",
): number | undefined {
  const given = env[variable];
  if (option !== undefined || given === undefined || given === "") return option;
  return wholeNumber(variable, ports)(given);
}

export function listen(server: JobForgeServer, port: number, host: string): Promise<string> {
  return opened(() => server.listen({ port, host }), "--port", port, host);
}

/** Returns the result of `open`. If the port cannot be opened, the error names the option to change. */
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
      `Port ${port} on ${host} is already in use.`,
      `Pass another port with ${option}; 0 picks a free port.`,
    );
  if (code === "EACCES")
    return new CommandError(
      "port_refused",
      `No permission to open port ${port}.`,
      "Choose a port above 1023.",
    );
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND")
    return new CommandError("no_such_host", `${host} is not an address of this machine.`, "Check the host.");
  return undefined;
}
