/** Calls over HTTP, as PostgREST and Supabase offer them: POST /rest/v1/rpc/{function} with the named arguments as JSON. */
import { withDeadline } from "../deadline.ts";
import {
  ConnectionError,
  ForbiddenError,
  InvalidArgumentError,
  type JobForgeError,
  NotInstalledError,
  PayloadTooLargeError,
} from "../errors.ts";
import { JsonText } from "../json.ts";
import { defaultTimeoutMs } from "../words.ts";
import { fromSqlError } from "./error-mapping.ts";
import { apiFunctions } from "./functions.ts";
import type { CallArguments, CallOptions, Transport } from "./transport.ts";

export interface HttpOptions {
  /** The server, such as `https://project.supabase.co` or `http://127.0.0.1:4470`; `/rest/v1` is added. */
  readonly url: string;
  /** A JWT, or a function that answers one. It is asked before every call, and once more when a call was answered with 401. */
  readonly token: string | (() => string | Promise<string>);
  /** Sent as the header `apikey`, which Supabase wants. */
  readonly apiKey?: string | undefined;
  /** The API schema that was chosen when migrating. Default `public`. */
  readonly schema?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** How long a call may take. Default 30 seconds. */
  readonly timeoutMs?: number | undefined;
  /** Instead of the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
}

export function httpTransport(options: HttpOptions): Transport {
  const base = baseUrl(options.url);
  const { timeoutMs = defaultTimeoutMs } = options;
  return {
    call: async <T>(name: string, args: CallArguments, call: CallOptions = {}) => {
      // A fetch that nobody waits for any more is stopped.
      const stop = new AbortController();
      const work = send(options, `${base}/rest/v1/rpc/${name}`, bodyOf(args), stop.signal);
      const answer = await withDeadline(name, { timeoutMs, ...call }, work, () => stop.abort());
      const isText = apiFunctions.get(name)?.returns === "text" && typeof answer === "string";
      return (isText ? JSON.parse(answer) : answer) as T;
    },
    close: async () => undefined,
  };
}

function baseUrl(url: string): string {
  if (!URL.canParse(url) || !/^https?:/.test(url))
    throw new InvalidArgumentError("url must be an http or https URL", { field: "url" });
  return url.replace(/\/+$/, "").replace(/\/rest\/v1$/, "");
}

function bodyOf(args: CallArguments): string {
  const members = Object.entries(args).flatMap(([name, value]) => {
    if (value === undefined) return [];
    return `${JSON.stringify(name)}:${value instanceof JsonText ? value.text : JSON.stringify(value)}`;
  });
  return `{${members.join()}}`;
}

async function send(options: HttpOptions, url: string, body: string, signal: AbortSignal): Promise<unknown> {
  const first = await attempt(options, url, body, signal);
  const renewable = typeof options.token === "function" && first.status === 401;
  const response = renewable ? await attempt(options, url, body, signal) : first;
  const text = await response.text().catch(failAsConnection);
  if (!response.ok) throw errorOf(response, text);
  try {
    return text === "" ? null : JSON.parse(text);
  } catch (cause) {
    throw new ConnectionError(`${url} answered with something that is not JSON`, { retryable: false, cause });
  }
}

async function attempt(
  options: HttpOptions,
  url: string,
  body: string,
  signal: AbortSignal,
): Promise<Response> {
  const { token, apiKey, schema = "public", headers, fetch: fetchWith = fetch } = options;
  const jwt = typeof token === "function" ? await token() : token;
  const sent = new Headers({
    ...headers,
    accept: "application/json",
    "content-type": "application/json",
    authorization: `Bearer ${jwt}`,
  });
  if (apiKey !== undefined) sent.set("apikey", apiKey);
  if (schema !== "public") sent.set("content-profile", schema);
  return await fetchWith(url, { method: "POST", headers: sent, body, signal }).catch(failAsConnection);
}

/** `fetch failed` alone says nothing; its cause does. */
function failAsConnection(error: unknown): never {
  const { message, cause } = error as { message?: string; cause?: { message?: string; code?: string } };
  const reason = cause?.message || cause?.code;
  throw new ConnectionError(`${message ?? String(error)}${reason ? `: ${reason}` : ""}`, { cause: error });
}

/** An error in PostgREST's form {code, message, details, hint}, or whatever a proxy on the way answered. */
function errorOf(response: Response, text: string): JobForgeError {
  const body = readError(text);
  const message = body.message ?? `HTTP ${response.status} ${response.statusText}`.trim();
  const { code, hint } = body;
  if (code !== undefined && /^[0-9A-Z]{5}$/.test(code))
    return fromSqlError({ code, message, detail: body.details, hint }, undefined);
  if (code === "PGRST202" || code === "PGRST205") return new NotInstalledError(message, { code });
  if (response.status === 401 || response.status === 403) return new ForbiddenError(message, { code, hint });
  // The same request would be refused for ever: no outage.
  if (response.status === 413) return new PayloadTooLargeError(message, { hint });
  // Overloaded, restarting, or its connection to the database is gone.
  const retryable = [408, 429, 500, 502, 503, 504].includes(response.status);
  return new ConnectionError(message, { code, hint, retryable });
}

interface ErrorBody {
  readonly code?: string | undefined;
  readonly message?: string | undefined;
  readonly details?: string | undefined;
  readonly hint?: string | undefined;
}

function readError(text: string): ErrorBody {
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body !== "object" || body === null) return {};
    const texts = Object.entries(body).filter(([, value]) => typeof value === "string");
    return Object.fromEntries(texts);
  } catch {
    return {};
  }
}
