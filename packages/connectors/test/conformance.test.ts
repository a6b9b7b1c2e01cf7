/** The cases that workers of all languages share: how runs end, and what receivers of webhooks get. */
import { describe, expect } from "vitest";
import cases from "../../../conformance/connectors.json" with { type: "json" };
import { finalCodes, retriedCodes } from "../src/errors.ts";
import { environmentSecrets, httpRequest, webhookDeliver } from "../src/index.ts";
import { policyDelayMs, retryAfterOf } from "../src/retries.ts";
import { verifyLegacyWebhook, verifyWebhook } from "../src/verify.ts";
import { loopbackAnd, type Ran, runner, T, test } from "./support/run.ts";
import { closedPort, startServer, startTcp } from "./support/servers.ts";

interface OutcomeCase {
  readonly name: string;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body_bytes?: number;
  readonly server?: string;
  readonly url?: string;
  readonly config?: Readonly<Record<string, unknown>>;
  readonly payload?: object;
  readonly webhook_payload?: object;
  readonly http: string;
  readonly webhook: string;
  readonly code?: string;
}

interface DeliveryCase {
  readonly name: string;
  readonly secrets: Readonly<Record<string, string>>;
  readonly payload: object;
  readonly headers: object;
  readonly absent: readonly string[];
  readonly body: object;
  readonly verify?: readonly string[];
  readonly verify_legacy?: readonly string[];
  readonly result: object;
}

const outcomes: readonly OutcomeCase[] = cases.outcomes as OutcomeCase[];
const deliveries: readonly DeliveryCase[] = cases.deliveries as unknown as DeliveryCase[];

async function targetOf(outcome: OutcomeCase): Promise<string> {
  const { url, server, status = 200, headers = {}, body_bytes = 0 } = outcome;
  if (url !== undefined) return url;
  if (server === "closed") return `http://127.0.0.1:${await closedPort()}`;
  if (server === "closing")
    return `http://127.0.0.1:${await startTcp((socket) => socket.once("data", () => socket.destroy()))}`;
  if (server === "garbage")
    return `http://127.0.0.1:${await startTcp((socket) => socket.once("data", () => socket.end("nonsense\r\n\r\n")))}`;
  if (server === "silent") return `http://127.0.0.1:${await startTcp(() => undefined)}`;
  return (await startServer((_, response) => response.writeHead(status, headers).end("x".repeat(body_bytes))))
    .url;
}

function endOf({ job }: Ran): string {
  if (job.status === "queued") return "retry";
  return job.status === "failed" ? "final" : job.status;
}

test("the codes are the same", () => {
  expect([...finalCodes]).toEqual(cases.codes.final);
  expect([...retriedCodes]).toEqual(cases.codes.retried);
});

test.for(outcomes)("$name: http $http, webhook $webhook", async (outcome, { forge }) => {
  const { run } = runner(forge, { secrets: environmentSecrets({}) });
  for (const type of ["http.request", "webhook.deliver"])
    await forge.connectors.set({ tenantId: T, type }, outcome.config ?? null);
  const url = await targetOf(outcome);
  const brief = outcome.server === "silent" ? { timeout_ms: 500 } : {};
  const http = await run(httpRequest, { url, ...brief, ...outcome.payload });
  expect([endOf(http), http.error?.details?.["code"]], JSON.stringify(http.error)).toEqual([
    outcome.http,
    outcome.http === "succeeded" ? undefined : outcome.code,
  ]);
  const event = { type: "a" };
  const webhook = await run(webhookDeliver, { url, event, ...brief, ...outcome.webhook_payload } as never);
  expect(endOf(webhook), JSON.stringify(webhook.error)).toBe(outcome.webhook);
  // A redirect is a status like others for a webhook.
  const code = outcome.code === "redirect_refused" ? expect.any(String) : outcome.code;
  if (outcome.webhook !== "succeeded") expect(webhook.error.details?.["code"]).toEqual(code);
});

test.for(cases.retry_after.cases)(
  "Retry-After of status %s: %j is %s seconds",
  ([status, header, seconds]) => {
    const now = Date.parse(cases.retry_after.now);
    expect(retryAfterOf(Number(status), String(header), now) ?? null).toBe(seconds);
  },
);

test("the waits of webhooks are the same", () => {
  const { attempts, seconds } = cases.webhook_waits;
  const waits = attempts.map((attempt) => policyDelayMs(webhookDeliver.retry as object, attempt) / 1000);
  expect(waits).toEqual(seconds);
});

describe("a delivery", () => {
  test.for(deliveries)("$name", async (delivery, { forge }) => {
    const server = await startServer((_, response) => response.end("thanks"));
    const filled = <V>(value: V, id = ""): V =>
      JSON.parse(
        JSON.stringify(value)
          .replaceAll("$SERVER", server.url)
          .replaceAll("$TENANT", T)
          .replaceAll("$JOB", id),
        (_, each) => (each === "$ANY" ? expect.any(String) : each),
      ) as V;
    const prefix = `JOBFORGE_SECRET_${T.replaceAll("-", "").toUpperCase()}_`;
    const values = Object.entries(delivery.secrets).map(([name, value]) => [`${prefix}${name}`, value]);
    const hosts = Object.keys(delivery.secrets).map((name) => [name, { hosts: ["127.0.0.1"] }]);
    const { run } = runner(forge, {
      egress: loopbackAnd({ secrets: Object.fromEntries(hosts) }),
      secrets: environmentSecrets(Object.fromEntries(values)),
    });
    const { job, result } = await run(webhookDeliver, filled(delivery.payload) as never);
    expect(job.status, JSON.stringify(job.error)).toBe("succeeded");
    expect(result).toMatchObject(filled(delivery.result, job.id));
    const { body = "", headers = {} } = server.received[0] ?? {};
    expect(headers).toMatchObject(filled(delivery.headers, job.id));
    for (const name of delivery.absent) expect(headers).not.toHaveProperty(name);
    expect(JSON.parse(body)).toEqual(filled(delivery.body, job.id));
    for (const name of delivery.verify ?? [])
      await verifyWebhook({ body, headers, secret: delivery.secrets[name] ?? "" });
    for (const name of delivery.verify_legacy ?? [])
      await verifyLegacyWebhook({ body, headers, secret: delivery.secrets[name] ?? "" });
  });
});
