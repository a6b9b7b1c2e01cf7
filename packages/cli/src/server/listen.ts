/** Opening the server's port, with what went wrong told in words. */
import type { JobForgeServer } from "@jobforge/server";
import { CommandError } from "../failures.ts";
import { readWhole } from "../output/values.ts";
import type { CliProcess } from "../process.ts";

export const usualPort = 4470;

export function readPort(given: string): number {
  return readWhole(given, "--port", 0, 65_535);
}

/** The port that was asked for, by an option or by PORT. */
export function askedPort(option: number | undefined, { env }: CliProcess): number | undefined {
  const { PORT } = env;
  if (option !== undefined || PORT === undefined || PORT === "") return option;
  return readWhole(PORT, "PORT", 0, 65_535);
}

export async function listen(server: JobForgeServer, port: number, host: string): Promise<string> {
  try {
    return await server.listen({ port, host });
  } catch (error) {
    throw portTrouble(error, port, host) ?? error;
  }
}

function portTrouble(error: unknown, port: number, host: string): CommandError | undefined {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "EADDRINUSE")
    return new CommandError(
      "port_in_use",
      `Port ${port} of ${host} is taken.`,
      "Pass --port or set PORT to another one; 0 takes a free one.",
    );
  if (code === "EACCES")
    return new CommandError("port_refused", `Port ${port} may not be opened.`, "Choose one above 1023.");
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND")
    return new CommandError("no_such_host", `${host} is no address of this machine.`, "Check --host.");
  return undefined;
}
