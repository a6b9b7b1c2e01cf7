/**
 * Calls over HTTP in the form of PostgREST and Supabase: POST /rest/v1/rpc/{function}, with the named arguments as
 * JSON.
 */
import type { StoredArtifact } from "../artifacts/store.ts";
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
import { fromSqlError, notInstalled } from "./error-mapping.ts";
import { apiFunctions } from "./functions.ts";
import type { CallArguments, CallOptions, Transport } from "./transport.ts";

export interface HttpOptions {
  /** The server, such as `https://project.supabase.co` or `http://127.0.0.1:4470`; `/rest/v1` is added. */
  readonly url: string;
  /** A JWT, or a function that returns one. The function is called before every call, and once more after a 401. */
  readonly token: string | (() => string | Promise<string>);
  /** Sent as the header `apikey`, which Supabase requires. */
  readonly apiKey?: string | undefined;
  /** The API schema that was chosen at migration. Default `public`. */
  readonly schema?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** How long a call may take. Default 30 seconds. */
  readonly timeoutMs?: number | undefined;
  /** Used instead of the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
}

/** An upload may have 64 MiB. */
const uploadTimeoutMs = 10 * 60_000;

export function httpTransport(options: HttpOptions): Transport {
  const base = baseUrl(options.url);
  const { timeoutMs = defaultTimeoutMs } = options;
  return {
    call: async <T>(name: string, args: CallArguments, call: CallOptions = {}) => {
      // Stops the fetch when the call gives up.
      const stop = new AbortController();
      const work = send(options, `${base}/rest/v1/rpc/${name}`, bodyOf(args), stop.signal);
      const reply = await withDeadline(name, { timeoutMs, ...call }, work, () => stop.abort());
      return resultOf(name, reply) as T;
    },
    upload: async (path, content, call = {}) => {
      const stop = new AbortController();
      const work = send(options, `${base}${path}`, content, stop.signal);
      const limits = { timeoutMs: uploadTimeoutMs, ...call };
      return (await withDeadline("upload", limits, work, () => stop.abort())) as StoredArtifact;
    },
    download: (path, call) => download(options, `${base}${path}`, call?.signal),
    close: async () => undefined,
  };
}

/** A document that is a text, or several texts, is a JSON string or an array of them over HTTP. */
function resultOf(name: string, reply: unknown): unknown {
  const returns = apiFunctions.get(name)?.returns;
  if (returns === "text" && typeof reply === "string") return JSON.parse(reply);
  return returns === "parts" && Array.isArray(reply) ? JSON.parse(reply.join("")) : reply;
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

async function send(
  options: HttpOptions,
  url: string,
  body: string | Buffer,
  signal: AbortSignal,
): Promise<unknown> {
  const first = await attempt(options, url, body, signal);
  const renewable = typeof options.token === "function" && first.status === 401;
  const response = renewable ? await attempt(options, url, body, signal) : first;
  const text = await response.text().catch(failAsConnection);
  if (!response.ok) throw errorOf(response, text);
  try {
    return text === "" ? null : JSON.parse(text);
  } catch (cause) {
    throw new ConnectionError(`The response of ${url} is not JSON`, { retryable: false, cause });
  }
}

/** Undefined if the server has no such file. */
async function download(
  options: HttpOptions,
  url: string,
  signal: AbortSignal | undefined,
): Promise<AsyncIterable<Buffer> | undefined> {
  const first = await attempt(options, url, undefined, signal);
  const renewable = typeof options.token === "function" && first.status === 401;
  const response = renewable ? await attempt(options, url, undefined, signal) : first;
  if (response.ok) return chunksOf(response);
  const text = await response.text().catch(failAsConnection);
  if (response.status === 404) return undefined;
  throw errorOf(response, text);
}

async function* chunksOf({ body }: Response): AsyncGenerator<Buffer> {
  for await (const chunk of body ?? []) yield Buffer.from(chunk);
}

/** Without a body, the request is a GET. */
async function attempt(
  options: HttpOptions,
  url: string,
  body: string | Buffer | undefined,
  signal: AbortSignal | undefined,
): Promise<Response> {
  const { token, apiKey, schema = "public", headers, fetch: fetchWith = fetch } = options;
  const jwt = typeof token === "function" ? await token() : token;
  const sent = new Headers({ ...headers, accept: "application/json", authorization: `Bearer ${jwt}` });
  if (body !== undefined) sent.set("content-type", "application/json");
  else sent.set("accept", "*/*");
  if (apiKey !== undefined) sent.set("apikey", apiKey);
  if (schema !== "public") sent.set("content-profile", schema);
  const method = body === undefined ? "GET" : "POST";
  // With the types of browsers, fetch refuses shared memory, which no buffer of ours is.
  const content = body as string | Buffer<ArrayBuffer> | undefined;
  const more = {
    ...(content === undefined ? {} : { body: content }),
    ...(signal === undefined ? {} : { signal }),
  };
  return await fetchWith(url, { method, headers: sent, ...more }).catch(failAsConnection);
}

/** The message `fetch failed` alone is useless, so the cause is added. */
function failAsConnection(error: unknown): never {
  const { message, cause } = error as { message?: string; cause?: { message?: string; code?: string } };
  const reason = cause?.message || cause?.code;
  throw new ConnectionError(`${message ?? String(error)}${reason ? `: ${reason}` : ""}`, { cause: error });
}

/** Reads an error in PostgREST's form {code, message, details, hint}, or whatever a proxy in between sent. */
function errorOf(response: Response, text: string): JobForgeError {
  const body = readError(text);
  const message = body.message ?? `HTTP ${response.status} ${response.statusText}`.trim();
  const { code, hint } = body;
  if (code !== undefined && /^[0-9A-Z]{5}$/.test(code))
    return fromSqlError({ code, message, detail: body.details, hint }, undefined);
  if (code === "PGRST202" || code === "PGRST205")
    return new NotInstalledError(notInstalled(message), { code });
  if (response.status === 401 || response.status === 403) return new ForbiddenError(message, { code, hint });
  // The same request would always be refused, so this is not a connection error.
  if (response.status === 413) return new PayloadTooLargeError(message, { hint });
  // The server is overloaded or restarting, or has lost its connection to the database.
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
