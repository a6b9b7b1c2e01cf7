/** Runs `connector.webhook.deliver`: builds, signs and sends one body. What was not delivered is a failed run. */
import type { JobContext, JobHandler } from "@jobforge/sdk-ts";
import type { ConnectorConfiguration } from "../configuration.ts";
import { type Exchange, send } from "../egress/exchange.ts";
import { checkUrl } from "../egress/url.ts";
import { ConnectorError } from "../errors.ts";
import { scrubbed } from "../http/handler.ts";
import { RequestHeaders, Values } from "../http/headers.ts";
import { beginningOf } from "../http/response.ts";
import { endFailed, retryAfterOf } from "../retries.ts";
import { Scrubber } from "../secrets/scrub.ts";
import type { Surroundings } from "../surroundings.ts";
import { version } from "../version.ts";
import { webhookBody } from "./body.ts";
import { type WebhookDelivery, type WebhookResult, webhookDeliver } from "./definition.ts";
import { masterKeysOf, type WebhookOptions } from "./endpoints.ts";
import { legacySignature, standardSignature } from "./signing.ts";
import { type SigningKeys, type Target, targetOf } from "./target.ts";

const waits = { connectMs: 5000, betweenBytesMs: 10_000 };
const maxResponseBytes = 65_536;

/**
 * A delivery that was claimed just before its endpoint was disabled waits with the others, and loses no attempt. The
 * hold of the endpoint's key does not concern a job that only names the endpoint, so that one asks ever more rarely.
 */
function disabledWaitMs(attempt: number): number {
  return Math.min(5000 * 2 ** (attempt - 1), 600_000);
}

export function webhookHandler(around: Surroundings, options: WebhookOptions): JobHandler {
  const masterKeys = options.masterKeys ?? masterKeysOf(process.env);
  return webhookDeliver.handle(async (input, job) => {
    const scrubber = new Scrubber();
    const rules: { schedule?: readonly number[] | undefined } = {};
    try {
      const config = await around.configurations.of(job.tenantId, "webhook.deliver");
      const target = await targetOf(input, job.tenantId, options, masterKeys);
      rules.schedule = target.schedule ?? config.retry_schedule;
      if (!target.isDisabled) return await deliver(around, target, input, job, config, scrubber);
    } catch (error) {
      return await endFailed(job, scrubbed(error, scrubber), rules);
    }
    return job.defer({ inMs: disabledWaitMs(job.attempt) }, { counts: false });
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
  setSignatures(headers, input, target, signing, job.attempt);
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
  const { preview } = await beginningOf(exchange, maxResponseBytes, scrubber);
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

interface Signing extends SigningKeys {
  readonly id: string;
  readonly sentAt: Date;
  readonly body: Buffer;
}

function setSignatures(
  headers: RequestHeaders,
  { event, signature_algo }: WebhookDelivery,
  { format, signature }: Target,
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
