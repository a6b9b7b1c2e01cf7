/** A real HTTP server for a scene, and requests to it that no library corrects. */
import { request as httpRequest, type OutgoingHttpHeaders } from "node:http";
import { clientRoles } from "@jobforge/sdk-ts";
import { createServer, type JobForgeServer, type ServerOptions } from "@jobforge/server";
import { pino } from "pino";
import type { Scene } from "./scene.ts";
import { secret } from "./tokens.ts";

export interface Sent {
  readonly method?: string;
  readonly path: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Buffer | undefined;
}

export interface Received {
  /** 0 if the connection was closed without a response. */
  readonly status: number;
  readonly text: string;
  readonly bytes: number;
}

/** Larger responses are not read to their end. */
const maxBytes = 64 * 2 ** 20;
const timeoutMs = 60_000;

export class Target implements AsyncDisposable {
  readonly #server: JobForgeServer;
  readonly #url: URL;

  private constructor(server: JobForgeServer, url: string) {
    this.#server = server;
    this.#url = new URL(url);
  }

  static async open({ db }: Scene, options: Partial<ServerOptions> = {}): Promise<Target> {
    const { url: database } = await db.createLogin(...clientRoles);
    const server = createServer({
      ...{ database, jwtSecret: secret, logger: pino({ level: "silent" }), rateLimit: false },
      ...options,
    });
    return new Target(server, await server.listen({ port: 0 }));
  }

  async send({ method = "GET", path, headers = {}, body }: Sent): Promise<Received> {
    const { hostname, port } = this.#url;
    return await new Promise((resolve) => {
      const closed = (): void => resolve({ status: 0, text: "", bytes: 0 });
      try {
        const length = body === undefined ? {} : { "content-length": Buffer.byteLength(body) };
        const sent = httpRequest(
          // A connection for each request: the server may close one while the rest of a large body is sent.
          {
            ...{ hostname, port, method, path, timeout: timeoutMs, agent: false },
            headers: { ...length, ...headers },
          },
          (response) => {
            const parts: Buffer[] = [];
            let bytes = 0;
            response.on("data", (part: Buffer) => {
              bytes += part.length;
              if (bytes <= maxBytes) parts.push(part);
              else response.destroy();
            });
            response.on("close", () =>
              resolve({
                status: response.statusCode ?? 0,
                text: Buffer.concat(parts).toString("utf8") + JSON.stringify(response.headers),
                bytes,
              }),
            );
          },
        );
        sent.on("error", closed);
        sent.on("socket", (socket) => socket.on("error", closed));
        sent.on("timeout", () => sent.destroy());
        sent.end(body);
      } catch {
        // Node refuses to send this request, so no client of Node can.
        closed();
      }
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.close();
  }
}

/** A request in one line. */
export function describe({ method = "GET", path, headers = {}, body }: Sent): string {
  const shown = Object.entries(headers).map(
    ([name, value]) => `-H '${name}: ${String(value).slice(0, 300)}'`,
  );
  const sent = body === undefined ? "" : ` -d '${body.toString("utf8").slice(0, 500)}'`;
  return `${method} ${path.slice(0, 1000)} ${shown.join(" ")}${sent}`;
}
