/** Opens a port with time limits for slow clients, and closes it without interrupting requests. */
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";

export interface Listener {
  readonly url: string;
  /** Accepts no new requests, and resolves when those in progress have finished. */
  close(): Promise<void>;
}

/** Not reachable from the network. */
export const defaultHost = "127.0.0.1";

type Fetch = Parameters<typeof createAdaptorServer>[0]["fetch"];

/** How many connections may wait to be accepted. The operating system may allow fewer. */
const backlog = 4096;

/** Time limits for receiving a request, so that a slow client does not hold a connection forever. */
export interface Timeouts {
  readonly headersMs: number;
  readonly requestMs: number;
  /** How often connections are checked. */
  readonly checkMs: number;
}

const defaultTimeouts: Timeouts = { headersMs: 60_000, requestMs: 120_000, checkMs: 30_000 };
/** How long requests in progress may take when the server closes. */
const drainMs = 10_000;
/** How often idle connections are closed while the server drains. */
const closeIdleMs = 20;

export async function open(
  fetch: Fetch,
  port: number,
  host: string,
  { headersMs, requestMs, checkMs }: Timeouts = defaultTimeouts,
): Promise<Listener> {
  const serverOptions = {
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: checkMs,
  };
  const server = createAdaptorServer({ fetch, serverOptions }) as Server;
  server.listen({ port, host, backlog });
  await once(server, "listening");
  // The system could not accept a connection, because it is out of memory, for example. Later ones may work.
  server.on("error", () => undefined);
  const { port: opened } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${opened}`,
    close: () => drain(server),
  };
}

/** Closes each kept-alive connection as soon as it has no request. */
async function drain(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const idle = setInterval(() => server.closeIdleConnections(), closeIdleMs);
  const deadline = setTimeout(() => server.closeAllConnections(), drainMs);
  await closed;
  clearInterval(idle);
  clearTimeout(deadline);
}
