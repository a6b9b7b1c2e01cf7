/** `connector.webhook.deliver`: the payload and the result, with the names that older payloads use. */
import { defineJob, type JobDefinition, type RetryPolicy } from "@jobforge/sdk-ts";
import { z } from "zod";
import { headerValues } from "../http/definition.ts";
import { jsonValue } from "../json-value.ts";
import { secretReference } from "../secrets/provider.ts";

export const maxTimeoutMs = 60_000;

/** Waits 5 s, 25 s, 2 min, 10 min, 52 min, 4.3 h, then 10 h: twelve executions in about 55 hours. */
export const webhookRetry = {
  baseMs: 5000,
  factor: 5,
  capMs: 36_000_000,
  jitter: 0.2,
  maxAttempts: 12,
} as const satisfies RetryPolicy;

/** The signed text is separated by full stops, so an id has none. */
const eventId = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, "must be 1 to 64 letters, digits, - and _");
const event = z.strictObject({
  id: eventId.optional(),
  type: z.string().min(1).max(200),
  /** When the event happened. Default: when the job was created. */
  timestamp: z.iso.datetime({ offset: true }).optional(),
  data: jsonValue.default({}),
});
const url = z.string();
/** While a secret is rotated: the new one first, and up to two old ones. */
const secret = z.union([secretReference, z.array(secretReference).min(1).max(3)]);

const payload = z
  .strictObject({
    url: url.optional(),
    endpoint_id: z.uuid().optional(),
    secret: secret.optional(),
    event: event.optional(),
    format: z.enum(["standard", "cloudevents", "legacy", "raw"]).optional(),
    /** `both` adds the older signature, so that receivers can migrate. */
    signature: z.enum(["standard", "both"]).default("standard"),
    headers: headerValues.default({}),
    timeout_ms: z.int().min(1).max(maxTimeoutMs).default(15_000),
    /** The names of older payloads. */
    target_url: url.optional(),
    event_type: z.string().min(1).max(200).optional(),
    event_id: eventId.optional(),
    data: jsonValue.optional(),
    secret_ref: z.string().optional(),
    signature_algo: z.enum(["sha256", "sha512"]).default("sha256"),
  })
  .transform((given, context) => {
    const isLegacy = given.target_url !== undefined;
    const target = given.url ?? given.target_url;
    const happened = given.event ?? legacyEvent(given);
    const issue = problemOf({ ...given, target, happened });
    if (issue !== undefined || happened === undefined) {
      context.addIssue({ code: "custom", ...(issue ?? { message: "must have an event" }) });
      return z.NEVER;
    }
    const secrets = given.secret_ref === undefined ? given.secret : { $secret: given.secret_ref };
    return {
      url: target,
      endpoint_id: given.endpoint_id,
      secrets: secrets === undefined ? [] : Array.isArray(secrets) ? secrets : [secrets],
      event: happened,
      format: given.format ?? (isLegacy ? ("legacy" as const) : ("standard" as const)),
      signature: given.signature,
      signature_algo: given.signature_algo,
      headers: given.headers,
      timeout_ms: given.timeout_ms,
    };
  });

function legacyEvent(given: {
  readonly event_type?: string | undefined;
  readonly event_id?: string | undefined;
  readonly data?: z.core.util.JSONType | undefined;
}): z.output<typeof event> | undefined {
  if (given.event_type === undefined) return undefined;
  return { type: given.event_type, id: given.event_id, data: given.data ?? {} };
}

interface Given {
  readonly target?: string | undefined;
  readonly endpoint_id?: string | undefined;
  readonly happened?: object | undefined;
  readonly secret?: object | undefined;
  readonly secret_ref?: string | undefined;
}

function problemOf(given: Given): { message: string; path: string[] } | undefined {
  if ((given.target === undefined) === (given.endpoint_id === undefined))
    return { message: "must have one of url and endpoint_id", path: ["url"] };
  if (given.happened === undefined) return { message: "must be { type, data }", path: ["event"] };
  if (given.secret_ref !== undefined && !secretReference.safeParse({ $secret: given.secret_ref }).success)
    return {
      message: "must be a name such as ACME_WEBHOOK: capitals, digits and underscores",
      path: ["secret_ref"],
    };
  if (given.endpoint_id !== undefined && given.secret !== undefined)
    return { message: "must be left out: an endpoint has its own key", path: ["secret"] };
  return undefined;
}

const result = z.object({
  delivered: z.literal(true),
  status: z.int(),
  duration_ms: z.number(),
  response_preview: z.string(),
  webhook_id: z.string(),
  timestamp: z.string(),
  attempt: z.int(),
});

export type WebhookDelivery = z.output<typeof payload>;
export type WebhookResult = z.infer<typeof result>;

/** Delivers a signed webhook. */
export const webhookDeliver: JobDefinition<"connector.webhook.deliver", typeof payload, typeof result> =
  defineJob({
    type: "connector.webhook.deliver",
    input: payload,
    output: result,
    retry: webhookRetry,
    timeoutMs: maxTimeoutMs + 30_000,
  });
