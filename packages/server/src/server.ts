/** The server: its routes in one Fetch handler, and how it listens and ends. */
import { setMaxListeners } from "node:events";
import type { Hono } from "hono";
import { buildApp } from "./app.ts";
import { isLoopback } from "./auth.ts";
import { type Listener, open } from "./listen.ts";
import { createLogger } from "./log.ts";
import { readOptions, type ServerOptions } from "./options.ts";
import { type Environment, Services } from "./services.ts";

export interface ListenOptions {
  /** Default: `PORT`, or 4470; 0 takes a free one. */
  readonly port?: number | undefined;
  /** Default 127.0.0.1. */
  readonly host?: string | undefined;
}

export interface JobForgeServer extends AsyncDisposable {
  /** The whole server as a Fetch handler, to be mounted in another application. */
  readonly fetch: (request: Request) => Response | Promise<Response>;
  /** Opens a port, and answers the server's URL. */
  listen(options?: ListenOptions): Promise<string>;
  /** Takes no new requests, lets those under way end, ends streams, and closes the connections to the database. */
  close(): Promise<void>;
}

export function createServer(options: ServerOptions): JobForgeServer {
  const settings = readOptions(options);
  const closing = new AbortController();
  // Every stream listens to it.
  setMaxListeners(0, closing.signal);
  const services = new Services(settings, closing.signal);
  const app: Hono<Environment> = buildApp(services, settings.logger ?? createLogger());
  let listening: Listener | undefined;
  let closed: Promise<void> | undefined;

  const close = async (): Promise<void> => {
    closing.abort();
    await listening?.close();
    await services.close();
  };

  return {
    fetch: (request) => app.fetch(request),
    listen: async ({ port = Number(process.env["PORT"] ?? 4470), host = "127.0.0.1" } = {}) => {
      if (settings.anonymousRole !== undefined && !isLoopback(host))
        throw new TypeError(`A server that asks for no token listens on this machine only, not on ${host}`);
      listening = await open(app.fetch, port, host);
      return listening.url;
    },
    close: () => {
      closed ??= close();
      return closed;
    },
    [Symbol.asyncDispose]: () => {
      closed ??= close();
      return closed;
    },
  };
}
