/** Runs `connector.webhook.deliver`: builds, signs and sends one body. What was not delivered is a failed run. */
import type { JobContext, JobHandler } from "@jobforge/sdk-ts";
import type { ConnectorConfiguration } from "../configuration.ts";
import { readBody } from "../egress/body.ts";
import { type Exchange, send } from "../egress/exchange.ts";
import { checkUrl } from "../egress/url.ts";
import { ConnectorError } from "../errors.ts";
import { scrubbed } from "../http/handler.ts";
import { RequestHeaders, Values } from "../http/headers.ts";
import { previewOf } from "../http/response.ts";
import { endFailed, retryAfterOf } from "../retries.ts";
import { Scrubber } from "../secrets/scrub.ts";
import type { Surroundings } from "../surroundings.ts";
import { version } from "../version.ts";
import { webhookBody } from "./body.ts";
import { type WebhookDelivery, type WebhookResult, webhookDeliver, webhookRetry } from "./definition.ts";
import { endpointKeys, masterKeysOf, type WebhookOptions } from "./keys.ts";
import { legacySignature, readSigningKey, type SigningKey, standardSignature } from "./signing.ts";

const waits = { connectMs: 5000, firstByteMs: 15_000, betweenBytesMs: 10_000 };
const maxResponseBytes = 65_536;

/** Where a delivery goes and with which keys it is signed. `texts` are secrets of the older form. */
interface Target {
  readonly url: string;
  readonly format: WebhookDelivery["format"];
  readonly headers: Readonly<Record<string, string>>;
  keys(values: Values): Promise<{ readonly keys: readonly SigningKey[]; readonly texts: readonly string[] }>;
}

export function webhookHandler(around: Surroundings, options: WebhookOptions): JobHandler {
  const masterKeys = masterKeysOf(options);
  const targetOf = async (input: WebhookDelivery, tenantId: string): Promise<Target> => {
    const { url, endpoint_id, format, secrets } = input;
    if (endpoint_id === undefined)
      return { url: url ?? "", format, headers: {}, keys: (values) => secretKeys(secrets, format, values) };
    const endpoint = await options.endpoints?.(tenantId, endpoint_id);
    if (endpoint === undefined)
      throw new ConnectorError("endpoint_unknown", "The tenant has no such endpoint.", { sent: false });
    return {
      url: endpoint.url,
      format: endpoint.format ?? format,
      headers: endpoint.headers ?? {},
      keys: async () => ({ keys: endpointKeys(masterKeys, tenantId, endpoint_id, endpoint), texts: [] }),
    };
  };
  return webhookDeliver.handle(async (input, job) => {
    const scrubber = new Scrubber();
    const rules: { schedule?: readonly number[] | undefined } = {};
    try {
      const config = await around.configurations.of(job.tenantId, "webhook.deliver");
      rules.schedule = config.retry_schedule;
      return await deliver(around, await targetOf(input, job.tenantId), input, job, config, scrubber);
    } catch (error) {
      return endFailed(job, scrubbed(error, scrubber), { ...rules, policy: webhookRetry });
    }
  });
}

async function deliver(
  around: Surroundings,
  target: Target,
  input: WebhookDelivery,
  job: JobContext,
  config: ConnectorConfiguration,
  scrubber: Scrubber,
): Promise<WebhookResult> {
  const { tenantId, signal } = job;
  const policy = await around.egressOf(tenantId, signal);
  const rules = { policy, allowlists: [config.allowed_hosts], httpsOnly: !policy.allow_http };
  const url = checkUrl(target.url, rules);
  const values = new Values(around.secrets, scrubber, { tenantId, policy, urls: [url], signal });
  const sentAt = new Date();
  const id = input.event.id ?? job.id;
  const body = webhookBody(target.format, {
    id,
    type: input.event.type,
    timestamp: input.event.timestamp ?? job.createdAt.toISOString(),
    data: input.event.data,
    tenantId,
    sentAt: sentAt.toISOString(),
  });
  const headers = new RequestHeaders();
  await headers.add(config.default_headers, values);
  await headers.add(target.headers, values);
  await headers.add(input.headers, values);
  const suffix = config.user_agent_suffix === undefined ? "" : ` ${config.user_agent_suffix}`;
  const agent = target.format === "legacy" ? "JobForge-Webhook/1.0" : `JobForge/${version}`;
  headers.set("user-agent", `${agent}${suffix}`);
  headers.set("content-type", body.contentType);
  headers.set("accept-encoding", "identity");
  headers.set("traceparent", job.traceparent);
  const signing = { ...(await target.keys(values)), id, sentAt, body: body.bytes };
  setSignatures(headers, input, target.format, signing, job.attempt);
  headers.check();
  const start = performance.now();
  const exchange = await send(around.agents, {
    tenantId,
    url: url.href,
    method: "POST",
    headers: headers.all,
    body: async () => body.bytes,
    rules,
    redirects: 0,
    waits,
    timeoutMs: Math.min(input.timeout_ms, config.timeout_ms ?? Number.POSITIVE_INFINITY),
    signal,
  });
  const preview = scrubber.text(await responsePreview(exchange));
  if (exchange.status < 200 || exchange.status > 299) throw statusFailure(exchange, preview);
  return {
    delivered: true,
    status: exchange.status,
    duration_ms: Math.round(performance.now() - start),
    response_preview: preview,
    webhook_id: id,
    timestamp: sentAt.toISOString(),
    attempt: job.attempt,
  };
}

interface Signing {
  readonly keys: readonly SigningKey[];
  readonly texts: readonly string[];
  readonly id: string;
  readonly sentAt: Date;
  readonly body: Buffer;
}

function setSignatures(
  headers: RequestHeaders,
  { event, signature, signature_algo }: WebhookDelivery,
  format: WebhookDelivery["format"],
  { keys, texts, id, sentAt, body }: Signing,
  attempt: number,
): void {
  if (format !== "legacy") {
    const seconds = Math.floor(sentAt.getTime() / 1000);
    headers.set("webhook-id", id);
    headers.set("webhook-timestamp", String(seconds));
    if (keys.length > 0) headers.set("webhook-signature", standardSignature(keys, id, seconds, body));
  }
  if (format !== "legacy" && signature !== "both") return;
  headers.set("x-jobforge-event", event.type);
  headers.set("x-jobforge-event-id", id);
  headers.set("x-jobforge-timestamp", sentAt.toISOString());
  headers.set("x-jobforge-delivery-attempt", String(attempt));
  const [text] = texts;
  if (text !== undefined) headers.set("x-jobforge-signature", legacySignature(signature_algo, text, body));
}

/** Looks up the secrets of a payload. One that has not the form of Standard Webhooks can sign only the older format. */
async function secretKeys(
  secrets: WebhookDelivery["secrets"],
  format: WebhookDelivery["format"],
  values: Values,
): Promise<{ readonly keys: readonly SigningKey[]; readonly texts: readonly string[] }> {
  const texts = await Promise.all(secrets.map((secret) => values.text(secret)));
  if (format === "legacy") return { keys: [], texts };
  const keys = texts.map((text) => {
    const key = readSigningKey(text);
    if (key === undefined)
      throw new ConnectorError(
        "secret_unavailable",
        "The secret of a webhook must have the form whsec_… with 24 to 64 bytes in base64, or whsk_….",
        { sent: false },
      );
    return key;
  });
  return { keys, texts };
}

/** The status decides, so a body that is too long or breaks off does not fail the delivery. */
async function responsePreview(exchange: Exchange): Promise<string> {
  try {
    const { bytes } = await readBody(exchange.body, maxResponseBytes);
    return previewOf(bytes);
  } catch (error) {
    const failure = exchange.failure(error);
    if (failure instanceof ConnectorError) return "";
    throw failure;
  }
}

/** Receivers are deployed wrongly for hours, so every status is retried, except the receiver's own word. */
function statusFailure({ status, headers, url }: Exchange, preview: string): ConnectorError {
  const isFinal = status === 410 || headers["jobforge-no-retry"] === "true";
  const details = {
    status,
    preview,
    retry_after: retryAfterOf(status, headers["retry-after"]),
    sent: true,
  };
  return new ConnectorError("http_status", `${url.host} responded with status ${status}.`, details, isFinal);
}
