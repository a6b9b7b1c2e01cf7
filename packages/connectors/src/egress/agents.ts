/**
 * Connections that check each address before a byte is sent. Connections are kept per tenant and version of the policy:
 * a second request on an open connection asks no DNS, so a shared one would bypass a stricter policy.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { isIP } from "node:net";
import { rootCertificates } from "node:tls";
import { Agent, buildConnector, type Dispatcher, ProxyAgent } from "undici";
import type { EgressPolicy } from "./policy.ts";
import { guardedLookup } from "./resolve.ts";
import { blockedAddress } from "./url.ts";

/** Milliseconds of the parts of a request. A part that an open connection made unnecessary is missing. */
export interface Timings {
  dns?: number;
  connect?: number;
  tls?: number;
  first_byte?: number;
}

/** The timings of the request that opens a connection. */
export const timingsOfRequest = new AsyncLocalStorage<Timings>();

/** How long a part of a request may take at most. The deadline of the whole request counts as well. */
export interface Waits {
  readonly connectMs: number;
  readonly betweenBytesMs: number;
}

const maxAgents = 1000;
const maxHeaderBytes = 16_384;

export class Agents {
  readonly #agents = new Map<string, Dispatcher>();

  /** The connections of a tenant under a policy. */
  of(tenantId: string, policy: EgressPolicy, waits: Waits): Dispatcher {
    const key = [tenantId, policy.version, waits.connectMs, waits.betweenBytesMs].join(" ");
    const agent = this.#agents.get(key) ?? createAgent(policy, waits);
    // The order of the map is the order of last use.
    this.#agents.delete(key);
    this.#agents.set(key, agent);
    if (this.#agents.size > maxAgents) this.#closeOldest();
    return agent;
  }

  /** Closes all connections once their requests have ended. */
  async close(): Promise<void> {
    const agents = [...this.#agents.values()];
    this.#agents.clear();
    await Promise.all(agents.map((agent) => agent.close()));
  }

  #closeOldest(): void {
    const [oldest] = this.#agents;
    if (oldest === undefined) return;
    this.#agents.delete(oldest[0]);
    void oldest[1].close();
  }
}

function createAgent(policy: EgressPolicy, waits: Waits): Dispatcher {
  const options = {
    // As many connections as the worker runs jobs. A smaller number would make jobs wait in a queue that is not shown,
    // and their time would run out there. Limits of the kernel say how many jobs may call one host at a time.
    connections: null,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: 4000,
    keepAliveMaxTimeout: 10_000,
    maxRequestsPerClient: 100,
    maxHeaderSize: maxHeaderBytes,
    // The deadline of the request ends this wait.
    headersTimeout: 0,
    bodyTimeout: waits.betweenBytesMs,
  };
  const tls = { minVersion: "TLSv1.2" as const, ...trusted(policy) };
  if (policy.proxy !== undefined)
    return new ProxyAgent({ ...options, uri: policy.proxy, proxyTunnel: true, requestTls: tls });
  return new Agent({ ...options, connect: guardedConnector(policy, waits.connectMs, tls) });
}

/** An own list of certificates replaces the list of Node, so it includes that one. */
function trusted({ ca }: EgressPolicy): { readonly ca?: string[] } {
  return ca === undefined ? {} : { ca: [...rootCertificates, ...(Array.isArray(ca) ? ca : [ca])] };
}

/** Connects first and checks the address, then begins TLS: not even the name of the host reaches a refused address. */
function guardedConnector(
  policy: EgressPolicy,
  timeout: number,
  tls: { readonly minVersion: "TLSv1.2"; readonly ca?: string[] },
): buildConnector.connector {
  const lookup = guardedLookup(policy, (ms) => note("dns", ms));
  const dial = buildConnector({ timeout, lookup });
  const secure = buildConnector({ ...tls, timeout, allowH2: false, maxCachedSessions: 0 });
  return (target, done) => {
    const host = target.hostname.replace(/^\[|\]$/g, "");
    // A socket calls `lookup` for names only.
    if (isIP(host) !== 0 && !policy.addresses.allows(host)) return done(blockedAddress(), null);
    const timings = timingsOfRequest.getStore() ?? {};
    const start = performance.now();
    const port = target.port === "" ? (target.protocol === "https:" ? "443" : "80") : target.port;
    dial({ ...target, protocol: "http:", port }, (error, socket) => {
      if (error !== null) return done(error, null);
      if (!policy.addresses.allows(socket.remoteAddress)) {
        const isLost = socket.remoteAddress === undefined;
        socket.destroy();
        return done(isLost ? lostConnection() : blockedAddress(), null);
      }
      timings.connect = performance.now() - start - (timings.dns ?? 0);
      if (target.protocol !== "https:") return done(null, socket);
      const connected = performance.now();
      secure({ ...target, httpSocket: socket }, (...result) => {
        timings.tls = performance.now() - connected;
        if (result[0] !== null) socket.destroy();
        done(...result);
      });
    });
  };
}

/** A server that closes the connection at once leaves no address to check. That is no refusal: a retry may help. */
function lostConnection(): Error {
  return Object.assign(new Error("The connection was closed"), { code: "ECONNRESET" });
}

function note(part: keyof Timings, ms: number): void {
  const timings = timingsOfRequest.getStore();
  if (timings !== undefined) timings[part] = ms;
}
