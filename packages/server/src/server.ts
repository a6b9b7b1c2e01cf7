/** The server: its routes in one Fetch handler, and how it listens and ends. */
import { once, setMaxListeners } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import type { Hono } from "hono";
import { buildApp } from "./app.ts";
import { isLoopback } from "./auth.ts";
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

/** How long requests under way may take when the server ends. */
const DRAIN_MS = 10_000;

export function createServer(options: ServerOptions): JobForgeServer {
  const settings = readOptions(options);
  const closing = new AbortController();
  // Every stream listens to it.
  setMaxListeners(0, closing.signal);
  const services = new Services(settings, closing.signal);
  const app: Hono<Environment> = buildApp(services, settings.logger ?? createLogger());
  let listening: Server | undefined;
  let closed: Promise<void> | undefined;

  const close = async (): Promise<void> => {
    closing.abort();
    if (listening !== undefined) await drain(listening);
    await services.close();
  };

  return {
    fetch: (request) => app.fetch(request),
    listen: async ({ port = Number(process.env["PORT"] ?? 4470), host = "127.0.0.1" } = {}) => {
      if (settings.anonymousRole !== undefined && !isLoopback(host))
        throw new TypeError(`A server that asks for no token listens on this machine only, not on ${host}`);
      listening = await open(app, port, host);
      const { port: opened } = listening.address() as AddressInfo;
      return `http://${host.includes(":") ? `[${host}]` : host}:${opened}`;
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

/** Connections that may wait to be taken when many come at once; the system may allow fewer. */
const BACKLOG = 4096;
/** A client that sends slowly must not hold a connection for ever. */
const HEADERS_MS = 60_000;
const REQUEST_MS = 120_000;

async function open(app: Hono<Environment>, port: number, host: string): Promise<Server> {
  const server = createAdaptorServer({ fetch: app.fetch }) as Server;
  server.headersTimeout = HEADERS_MS;
  server.requestTimeout = REQUEST_MS;
  server.listen({ port, host, backlog: BACKLOG });
  await once(server, "listening");
  return server;
}

/** Connections that are kept alive without a request are closed as soon as they have none. */
async function drain(server: Server): Promise<void> {
  const ended = new Promise<void>((resolve) => server.close(() => resolve()));
  const idle = setInterval(() => server.closeIdleConnections(), 20);
  const impatient = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  await ended;
  clearInterval(idle);
  clearTimeout(impatient);
}
