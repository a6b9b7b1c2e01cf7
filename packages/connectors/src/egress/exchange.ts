/** One request with its redirects: each hop is checked like the first, under one deadline for all of them. */
import type { Readable } from "node:stream";
import { type Dispatcher, request } from "undici";
import { ConnectorError } from "../errors.ts";
import { type Agents, type Timings, timingsOfRequest, type Waits } from "./agents.ts";
import { type FailureContext, failureOf } from "./failures.ts";
import { checkUrl, type UrlRules } from "./url.ts";

export type Method = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS";

export interface OutboundRequest {
  readonly tenantId: string;
  readonly url: string;
  readonly method: Method;
  readonly headers: Readonly<Record<string, string>>;
  /** Headers that hold a secret, in lower case. They never leave the origin of the URL. */
  readonly secretHeaders?: ReadonlySet<string> | undefined;
  /** Called for each hop that has a body. */
  readonly body?: (() => Promise<Buffer | Readable>) | undefined;
  readonly rules: UrlRules;
  readonly redirects: number;
  readonly waits: Waits;
  /** The time for the request with its redirects, until the body has been read. */
  readonly timeoutMs: number;
  /** When that time ends. Default: `timeoutMs` from now. Several requests of one run share a deadline. */
  readonly deadline?: AbortSignal | undefined;
  /** The signal of the run. */
  readonly signal: AbortSignal;
}

export interface Exchange {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Readable;
  readonly url: URL;
  /** The URLs that redirected, in order. */
  readonly redirects: readonly string[];
  readonly timings: Timings;
  /** Turns an error while the body is read into a failure. */
  failure(error: unknown): unknown;
}

interface Hop {
  readonly url: URL;
  readonly method: Method;
  readonly headers: Readonly<Record<string, string>>;
  readonly hasBody: boolean;
}

/** Sends a request and returns its response, whose body is not yet read. Throws a ConnectorError. */
export async function send(agents: Agents, outbound: OutboundRequest): Promise<Exchange> {
  const deadline = outbound.deadline ?? AbortSignal.timeout(outbound.timeoutMs);
  const visited: string[] = [];
  let hop: Hop = {
    url: checkUrl(outbound.url, outbound.rules),
    method: outbound.method,
    headers: outbound.headers,
    hasBody: outbound.body !== undefined,
  };
  for (;;) {
    const exchange = await sendHop(agents, outbound, hop, deadline);
    const location = locationOf(exchange);
    if (location === undefined || outbound.redirects === 0) return { ...exchange, redirects: visited };
    exchange.body.destroy();
    visited.push(hop.url.href);
    if (visited.length > outbound.redirects)
      throw refused(`There are more than ${outbound.redirects} redirects.`, exchange.status);
    hop = nextHop(hop, exchange.status, location, outbound);
  }
}

async function sendHop(
  agents: Agents,
  outbound: OutboundRequest,
  hop: Hop,
  deadline: AbortSignal,
): Promise<Omit<Exchange, "redirects">> {
  const { tenantId, rules, waits, timeoutMs, signal } = outbound;
  let sent = false;
  const context: FailureContext = {
    host: hop.url.host,
    proxied: rules.policy.proxy !== undefined,
    timeoutMs,
    waits,
    deadline,
    run: signal,
    isSent: () => sent,
  };
  const timings: Timings = {};
  const start = performance.now();
  try {
    const ended = AbortSignal.any([signal, deadline]);
    ended.throwIfAborted();
    const body = hop.hasBody && outbound.body ? await until(ended, outbound.body()) : undefined;
    const dispatcher = noting(agents.of(tenantId, rules.policy, waits), () => {
      sent = true;
    });
    const response = await timingsOfRequest.run(timings, () =>
      until(
        ended,
        request(hop.url, {
          dispatcher,
          method: hop.method,
          headers: hop.headers,
          body: body ?? null,
          signal: ended,
        }),
      ),
    );
    timings.first_byte = performance.now() - start;
    // A body that is dropped emits an error. Without a listener, that would end the process.
    response.body.on("error", () => undefined);
    return {
      status: response.statusCode,
      headers: response.headers,
      body: response.body,
      url: hop.url,
      timings,
      failure: (error) => failureOf(error, context),
    };
  } catch (error) {
    throw failureOf(error, context);
  }
}

/**
 * A dispatcher that calls a function when a request is about to be written: until then, a repetition does no harm. It
 * does what `compose` does, but that would convert the headers of each response twice.
 */
function noting(dispatcher: Dispatcher, started: () => void): Dispatcher {
  const dispatch: Dispatcher["dispatch"] = (options, handler) => {
    // The handler belongs to this request alone.
    const start = handler.onConnect?.bind(handler);
    handler.onConnect = (...args) => {
      started();
      start?.(...args);
    };
    return dispatcher.dispatch(options, handler);
  };
  return { dispatch } as Dispatcher;
}

/**
 * Waits for a request until the signal is aborted. undici looks at the signal of a request only once its connection is
 * there, so a slow name or a silent TLS server would outlive the deadline. A connection that comes later sends nothing.
 */
function until<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

const redirectStatuses = [301, 302, 303, 307, 308];

/** The target of a redirect; undefined if the response is not one. */
function locationOf({ status, headers }: Pick<Exchange, "status" | "headers">): string | undefined {
  const location = headers["location"];
  return redirectStatuses.includes(status) && typeof location === "string" ? location : undefined;
}

function nextHop(hop: Hop, status: number, location: string, { rules, secretHeaders }: OutboundRequest): Hop {
  if (!URL.canParse(location, hop.url.href)) throw refused("The redirect has an invalid target.", status);
  const url = checkUrl(new URL(location, hop.url).href, rules);
  if (hop.url.protocol === "https:" && url.protocol === "http:")
    throw refused("The redirect leads from https to http.", status);
  const becomesGet = status === 303 ? hop.method !== "HEAD" : status <= 302 && hop.method === "POST";
  const hasBody = hop.hasBody && !becomesGet;
  const isSameOrigin = url.origin === hop.url.origin;
  if (hasBody && !isSameOrigin) throw refused("The redirect would send the body to another origin.", status);
  const dropped = (name: string): boolean =>
    (!isSameOrigin && (privateHeaders.includes(name) || (secretHeaders?.has(name) ?? false))) ||
    (becomesGet && name.startsWith("content-"));
  const headers = Object.fromEntries(
    Object.entries(hop.headers).filter(([name]) => !dropped(name.toLowerCase())),
  );
  return { url, method: becomesGet ? "GET" : hop.method, headers, hasBody };
}

const privateHeaders = ["authorization", "cookie", "proxy-authorization", "idempotency-key"];

function refused(message: string, status: number): ConnectorError {
  return new ConnectorError("redirect_refused", message, { status, sent: true });
}
