/** Creates the server: a Fetch handler for all routes, a port, and an orderly close. */
import { setMaxListeners } from "node:events";
import type { Hono } from "hono";
import { buildApp } from "./app.ts";
import { isLoopback } from "./auth.ts";
import { defaultHost, type Listener, open } from "./listen.ts";
import { createLogger } from "./log.ts";
import { readOptions, type ServerOptions } from "./options.ts";
import { type Environment, Services } from "./services.ts";

export interface ListenOptions {
  /** Default: `PORT`, else 4470. 0 chooses a free port. */
  readonly port?: number | undefined;
  /** Default 127.0.0.1. */
  readonly host?: string | undefined;
}

export interface JobForgeServer extends AsyncDisposable {
  /** The whole server as a Fetch handler, for mounting in another application. */
  readonly fetch: (request: Request) => Response | Promise<Response>;
  /** Opens a port, and resolves with the server's URL. */
  listen(options?: ListenOptions): Promise<string>;
  /**
   * Accepts no new requests, lets those in progress finish, ends streams, and closes the connections to the database.
   */
  close(): Promise<void>;
}

const defaultPort = 4470;

export function createServer(options: ServerOptions): JobForgeServer {
  const settings = readOptions(options);
  const closing = new AbortController();
  // Every stream adds a listener.
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
    listen: async ({ port = Number(process.env["PORT"] ?? defaultPort), host = defaultHost } = {}) => {
      if ((settings.anonymousRole ?? settings.localToken) !== undefined && !isLoopback(host))
        throw new TypeError(
          `A server with anonymousRole or localToken may listen on this machine only, not on ${host}`,
        );
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
