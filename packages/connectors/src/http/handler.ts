/** Runs `connector.http.request`: one guarded request, and what is kept of its response. */
import { Readable } from "node:stream";
import type { JobContext, JobHandler } from "@jobforge/sdk-ts";
import { refOf, requireOwner } from "../artifacts/store.ts";
import type { ConnectorConfiguration } from "../configuration.ts";
import { decoded, limited, readBody, tooLarge } from "../egress/body.ts";
import { type Exchange, type OutboundRequest, send } from "../egress/exchange.ts";
import { checkUrl } from "../egress/url.ts";
import { ConnectorError } from "../errors.ts";
import { endFailed, hasStatus, retryAfterOf } from "../retries.ts";
import { Scrubber } from "../secrets/scrub.ts";
import type { Surroundings } from "../surroundings.ts";
import { version } from "../version.ts";
import { Authorization } from "./auth.ts";
import { bodyText, type HttpRequest, type HttpResult, httpRequest } from "./definition.ts";
import { RequestHeaders, Values, withQuery } from "./headers.ts";
import { beginningOf, keptBody, keptHeaders, previewBytes, previewOf } from "./response.ts";

const waits = { connectMs: 10_000, betweenBytesMs: 10_000 };
const maxArtifactBytes = 1_073_741_824;

export function httpHandler(around: Surroundings): JobHandler {
  const authorization = new Authorization(around);
  return httpRequest.handle(async (input, job) => {
    const scrubber = new Scrubber();
    const rules: { schedule?: readonly number[] | undefined } = {};
    try {
      const config = await around.configurations.of(job.tenantId, "http.request");
      rules.schedule = config.retry_schedule;
      return await call(around, authorization, input, job, config, scrubber);
    } catch (error) {
      return await endFailed(job, scrubbed(error, scrubber), {
        ...rules,
        isFinal: (failure) => isFinal(failure, input),
      });
    }
  });
}

async function call(
  around: Surroundings,
  authorization: Authorization,
  input: HttpRequest,
  job: JobContext,
  config: ConnectorConfiguration,
  scrubber: Scrubber,
): Promise<HttpResult> {
  const start = performance.now();
  const outbound = await prepare(around, authorization, input, job, config, scrubber);
  const exchange = await send(around.agents, outbound);
  try {
    const allowed = config.max_bytes ?? Number.POSITIVE_INFINITY;
    const maxBytes = Math.min(
      input.response.on_large === "artifact" ? maxArtifactBytes : input.response.max_bytes,
      allowed,
    );
    const success = hasStatus(input.success, exchange.status);
    if (!success) {
      // A token may be revoked before it expires. The next attempt asks for another one.
      const isStale =
        exchange.status === 401 &&
        isOAuth2(input.auth) &&
        authorization.forget(outbound.headers["authorization"]);
      throw await statusFailure(exchange, input, scrubber, isStale);
    }
    const kept = await keep(around, exchange, { ...input, maxBytes }, job, scrubber);
    return {
      status: exchange.status,
      success: true,
      duration_ms: rounded(performance.now() - start),
      url: scrubber.text(exchange.url.href),
      redirects: exchange.redirects.map((url) => scrubber.text(url)),
      response_headers: keptHeaders(
        exchange.headers,
        [...input.response.headers, ...input.response_headers_allowlist],
        input.redact_headers,
        scrubber,
      ),
      ...kept,
      timings: Object.fromEntries(Object.entries(exchange.timings).map(([part, ms]) => [part, rounded(ms)])),
    };
  } catch (error) {
    exchange.body.destroy();
    throw exchange.failure(error);
  }
}

async function prepare(
  around: Surroundings,
  authorization: Authorization,
  input: HttpRequest,
  job: JobContext,
  config: ConnectorConfiguration,
  scrubber: Scrubber,
): Promise<OutboundRequest> {
  const { tenantId, signal } = job;
  const policy = await around.egressOf(tenantId, signal);
  const rules = { policy, allowlists: [config.allowed_hosts, input.allowlist] };
  const url = checkUrl(input.url, rules);
  const timeoutMs = Math.min(input.timeout_ms, config.timeout_ms ?? Number.POSITIVE_INFINITY);
  // A request for a token is part of this time.
  const deadline = AbortSignal.timeout(timeoutMs);
  const common = { tenantId, rules, waits, timeoutMs, deadline, signal };
  const values = new Values(around.secrets, scrubber, { tenantId, policy, urls: [url], signal });
  const headers = new RequestHeaders();
  const agent = config.user_agent_suffix === undefined ? "" : ` ${config.user_agent_suffix}`;
  headers.set("user-agent", `JobForge/${version}${agent}`);
  headers.set("traceparent", job.traceparent);
  if (typeof input.body !== "string" && input.body !== undefined)
    headers.set("content-type", "application/json");
  await headers.add(config.default_headers, values);
  await headers.add(input.headers, values);
  // A compressed body would hide the secrets in it.
  headers.set("accept-encoding", input.response.decode ? "gzip, br" : "identity");
  if (input.auth !== undefined)
    headers.set("authorization", await authorization.header(input.auth, url, common, values, scrubber), true);
  const { idempotency_header: idempotency } = input;
  if (idempotency !== false && (input.method === "POST" || input.method === "PATCH"))
    await headers.add({ [idempotency]: job.id }, values);
  headers.check();
  return {
    ...common,
    url: (await withQuery(url, input.query, values)).href,
    method: input.method,
    headers: headers.all,
    secretHeaders: headers.secret,
    body: bodyOf(around, input, job),
    redirects: input.redirects ?? (input.method === "GET" || input.method === "HEAD" ? 3 : 0),
  };
}

/** The body, made anew for each hop. */
function bodyOf(around: Surroundings, input: HttpRequest, job: JobContext): OutboundRequest["body"] {
  const { body, body_base64, body_artifact } = input;
  if (body_artifact !== undefined)
    return async () =>
      Readable.from(await around.artifacts.get(requireOwner(body_artifact, job.tenantId), job.signal));
  if (body_base64 !== undefined) return async () => Buffer.from(body_base64, "base64");
  const text = bodyText(body);
  return text === undefined ? undefined : async () => Buffer.from(text);
}

/** What is kept of the body: its beginning in the result, or all of it as an artifact. */
async function keep(
  around: Surroundings,
  exchange: Exchange,
  input: HttpRequest & { readonly maxBytes: number },
  job: JobContext,
  scrubber: Scrubber,
): Promise<
  Pick<
    HttpResult,
    "response_body_preview" | "body" | "body_encoding" | "json" | "truncated" | "bytes" | "artifact_ref"
  >
> {
  const { maxBytes, response } = input;
  const header = exchange.headers["content-type"];
  const contentType = typeof header === "string" ? header : undefined;
  const received = response.decode
    ? decoded(exchange.body, exchange.headers["content-encoding"]?.toString())
    : exchange.body;
  if (response.on_large === "artifact")
    return await keepArtifact(around, limited(received, maxBytes), contentType, job, scrubber);
  const read = await readBody(received, maxBytes);
  if (read.truncated && response.on_large === "fail") throw tooLarge(maxBytes, read.total);
  const bytes = scrubber.bytes(read.bytes, !read.truncated);
  const body = keptBody(bytes, response.body, contentType, !read.truncated, scrubber);
  return {
    response_body_preview: previewOf(bytes),
    ...(body as Pick<HttpResult, "body" | "json">),
    truncated: read.truncated,
    bytes: read.total,
  };
}

async function keepArtifact(
  around: Surroundings,
  body: AsyncIterable<Buffer>,
  contentType = "application/octet-stream",
  job: JobContext,
  scrubber: Scrubber,
): Promise<Pick<HttpResult, "response_body_preview" | "truncated" | "bytes" | "artifact_ref">> {
  const key = `http/${job.tenantId}/${job.id}/response`;
  let preview = "";
  const watched = async function* (): AsyncGenerator<Buffer> {
    for await (const chunk of scrubber.stream(body)) {
      if (preview === "") preview = previewOf(chunk);
      yield chunk;
    }
  };
  const { bytes } = await around.artifacts.put(key, watched(), { contentType, signal: job.signal });
  return { response_body_preview: preview, truncated: false, bytes, artifact_ref: refOf(key) };
}

function isOAuth2(auth: HttpRequest["auth"]): boolean {
  return auth !== undefined && "oauth2" in auth;
}

/** The failure of a response whose status is not a success. */
async function statusFailure(
  exchange: Exchange,
  { final_on, retry_on }: HttpRequest,
  scrubber: Scrubber,
  isStale: boolean,
): Promise<ConnectorError> {
  const { status, headers } = exchange;
  const details = {
    status,
    ...(await beginningOf(exchange, previewBytes, scrubber)),
    retry_after: retryAfterOf(status, headers["retry-after"]),
    sent: true,
  };
  if (status >= 300 && status < 400)
    return new ConnectorError(
      "redirect_refused",
      `${exchange.url.host} redirected with status ${status}, and redirects are not followed here.`,
      details,
    );
  const isFinal =
    headers["jobforge-no-retry"] === "true" ||
    hasStatus(final_on, status) ||
    !(isStale || hasStatus(retry_on, status));
  return new ConnectorError(
    "http_status",
    `${exchange.url.host} responded with status ${status}.`,
    details,
    isFinal,
  );
}

/** Whether the payload forbids a retry of this failure. */
function isFinal({ details, code }: ConnectorError, { retry, method }: HttpRequest): boolean {
  if (retry === "never") return true;
  if (retry === "always" || (method !== "POST" && method !== "PATCH")) return false;
  // A server that is overloaded says so before it acts.
  return (
    details.sent === true && !(code === "http_status" && (details.status === 429 || details.status === 503))
  );
}

/** The same failure without secrets. */
export function scrubbed(error: unknown, scrubber: Scrubber): unknown {
  if (!(error instanceof ConnectorError)) return error;
  const { code, message, details, isFinal } = error;
  const { code: _, preview, ...rest } = details;
  const clean = preview === undefined ? rest : { ...rest, preview: scrubber.text(preview) };
  return new ConnectorError(code, scrubber.text(message), clean, isFinal);
}

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}
