/** A port that is served, with limits for clients that are slow, and how it is closed without cutting anybody off. */
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";

export interface Listener {
  readonly url: string;
  /** Takes no new requests, and lets those under way end. */
  close(): Promise<void>;
}

type Fetch = Parameters<typeof createAdaptorServer>[0]["fetch"];

/** Connections that may wait to be taken when many come at once; the system may allow fewer. */
const BACKLOG = 4096;
/** A client that sends slowly must not hold a connection for ever. */
export interface Patience {
  readonly headersMs: number;
  readonly requestMs: number;
  /** How often connections are looked at. */
  readonly checkMs: number;
}

const usualPatience: Patience = { headersMs: 60_000, requestMs: 120_000, checkMs: 30_000 };
/** How long requests under way may take when the server ends. */
const DRAIN_MS = 10_000;

export async function open(
  fetch: Fetch,
  port: number,
  host: string,
  { headersMs, requestMs, checkMs }: Patience = usualPatience,
): Promise<Listener> {
  const serverOptions = {
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: checkMs,
  };
  const server = createAdaptorServer({ fetch, serverOptions }) as Server;
  server.listen({ port, host, backlog: BACKLOG });
  await once(server, "listening");
  const { port: opened } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${opened}`,
    close: () => drain(server),
  };
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
