/**
 * The server of `jobforge dev`, for this machine only. Who has the token of this start is an operator. Other users of
 * the machine can reach the port, but do not know the token.
 */
import { randomBytes } from "node:crypto";
import type { ServerOptions } from "@jobforge/server";
import { CommandError } from "../failures.ts";
import type { CliProcess } from "../process.ts";
import { askedPort, listen, usualPort } from "../server/listen.ts";

export interface DevServer extends AsyncDisposable {
  readonly url: string;
  readonly token: string;
}

const host = "127.0.0.1";

export async function startServer(
  cli: CliProcess,
  options: Pick<ServerOptions, "database" | "apiSchema" | "artifacts" | "webhookSecrets">,
  port: number | undefined,
): Promise<DevServer> {
  // Loaded only when it is needed, so that other commands start faster.
  const { createLogger, createServer } = await import("@jobforge/server");
  const token = randomBytes(24).toString("base64url");
  const server = createServer({
    ...options,
    localToken: { role: "jobforge_operator", token },
    poolSize: 5,
    logger: createLogger({ level: "warn", write: (line) => void cli.stderr.write(line) }),
  });
  const asked = askedPort(port, cli);
  try {
    const url = await listen(server, asked ?? usualPort, host).catch((error: unknown) => {
      // The default port is taken, perhaps by the jobforge dev of another project. The user did not ask for this port.
      if (asked === undefined && error instanceof CommandError && error.code === "port_in_use")
        return listen(server, 0, host);
      throw error;
    });
    return { url, token, [Symbol.asyncDispose]: () => server.close() };
  } catch (error) {
    await server.close();
    throw error;
  }
}
