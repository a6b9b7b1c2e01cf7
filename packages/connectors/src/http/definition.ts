/** `connector.http.request`: the payload and the result, with the names that older payloads use. */
import { defineJob, type JobDefinition } from "@jobforge/sdk-ts";
import { z } from "zod";
import { hostPattern } from "../egress/policy.ts";
import { jsonValue } from "../json-value.ts";
import { secretReference } from "../secrets/provider.ts";

export const maxTimeoutMs = 300_000;
const maxBodyBytes = 1_048_576;
/** The largest body that fits into a result, also in base64. */
const maxKeptBytes = 524_288;

export const value = z.union([z.string(), secretReference]);
export const headerValues = z.record(z.string(), value);
const status = z.string().regex(/^(?:[1-5]xx|[1-5]\d\d)$/, "must be a status such as 404 or 5xx");

const basic = z.strictObject({ user: value, password: value });
const oauth2 = z.strictObject({
  token_url: z.string(),
  client_id: value,
  client_secret: secretReference,
  scope: z.string().optional(),
});
export const auth = z.union([
  z.strictObject({ bearer: value }),
  z.strictObject({ basic }),
  z.strictObject({ oauth2 }),
]);

const response = z.strictObject({
  /** `auto`: JSON if it is JSON, else text, else base64. */
  body: z.enum(["auto", "text", "base64", "none"]).default("auto"),
  max_bytes: z.int().min(0).max(maxKeptBytes).default(262_144),
  on_large: z.enum(["truncate", "fail", "artifact"]).default("truncate"),
  /** The names of response headers to keep. */
  headers: z.array(z.string()).default(["content-type"]),
  /** Whether to ask for gzip or br, and to decode it. */
  decode: z.boolean().default(false),
});

const payload = z
  .strictObject({
    url: z.string(),
    method: z.enum(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]).default("GET"),
    query: z.record(z.string(), z.union([value, z.number(), z.boolean()])).default({}),
    headers: headerValues.default({}),
    auth: auth.optional(),
    /** A text is sent byte for byte; any other JSON value is sent as JSON. */
    body: jsonValue.optional(),
    body_base64: z.base64().optional(),
    body_artifact: z.string().optional(),
    timeout_ms: z.int().min(1).max(maxTimeoutMs).default(30_000),
    redirects: z.int().min(0).max(5).optional(),
    success: z.array(status).default(["2xx"]),
    retry_on: z.array(status).default(["408", "425", "429", "5xx"]),
    final_on: z.array(status).default([]),
    retry: z.enum(["always", "safe", "never"]).default("always"),
    idempotency_header: z.union([z.string(), z.literal(false)]).default("idempotency-key"),
    response: response.prefault({}),
    allowlist: z.array(hostPattern).default([]),
    /** Older name: response headers to keep. */
    response_headers_allowlist: z.array(z.string()).default([]),
    /** Older name: response headers whose values are masked. */
    redact_headers: z.array(z.string()).default([]),
  })
  .refine(
    ({ body, body_base64, body_artifact }) =>
      [body, body_base64, body_artifact].filter((each) => each !== undefined).length <= 1,
    "must have at most one of body, body_base64 and body_artifact",
  )
  .refine(
    ({ body, body_base64 }) => Buffer.byteLength(bodyText(body) ?? body_base64 ?? "") <= maxBodyBytes * 1.4,
    { message: "must be at most 1 MiB: store it as an artifact and pass body_artifact", path: ["body"] },
  );

/** A text as it is, and any other value as JSON. */
export function bodyText(body: unknown): string | undefined {
  return body === undefined || typeof body === "string" ? body : JSON.stringify(body);
}

const result = z.object({
  status: z.int(),
  success: z.literal(true),
  duration_ms: z.number(),
  url: z.string(),
  redirects: z.array(z.string()),
  response_headers: z.record(z.string(), z.string()),
  response_body_preview: z.string(),
  body: z.string().optional(),
  /** Present if `body` is not text. */
  body_encoding: z.literal("base64").optional(),
  json: jsonValue.optional(),
  truncated: z.boolean(),
  bytes: z.int(),
  artifact_ref: z.string().optional(),
  timings: z.object({
    dns: z.number().optional(),
    connect: z.number().optional(),
    tls: z.number().optional(),
    first_byte: z.number().optional(),
  }),
});

export type HttpRequest = z.output<typeof payload>;
export type HttpResult = z.infer<typeof result>;

/** Calls an HTTP API. */
export const httpRequest: JobDefinition<"connector.http.request", typeof payload, typeof result> = defineJob({
  type: "connector.http.request",
  input: payload,
  output: result,
  retry: "standard",
  // The connector ends a request by itself before this.
  timeoutMs: maxTimeoutMs + 30_000,
});
