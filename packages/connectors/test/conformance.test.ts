/** The cases that workers of all languages share: how runs end, and what receivers of webhooks get. */
import type { Socket } from "node:net";
import { defineJob, type JobDefinition, retryDelayMs, typed } from "@jobforge/sdk-ts";
import { describe, expect } from "vitest";
import cases from "../../../conformance/connectors.json" with { type: "json" };
import { finalCodes, retriedCodes } from "../src/errors.ts";
import {
  type EgressDocument,
  type EgressSource,
  environmentSecrets,
  httpRequest,
  loopbackEgress,
  webhookDeliver,
  webhookRetry,
} from "../src/index.ts";
import { retryAfterOf } from "../src/retries.ts";
import { verifyLegacyWebhook, verifyWebhook } from "../src/verify.ts";
import { certificatesFor } from "./support/certificates.ts";
import { startDns } from "./support/dns.ts";
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
  readonly egress?: EgressDocument;
  readonly secrets?: Readonly<Record<string, string>>;
  readonly payload?: object;
  readonly webhook_payload?: object;
  readonly http: string;
  readonly webhook: string;
  readonly code?: string;
  /** The code of the webhook, if it has another one. */
  readonly webhook_code?: string;
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

function variablesOf(secrets: Readonly<Record<string, string>> = {}): Record<string, string> {
  const prefix = `JOBFORGE_SECRET_${T.replaceAll("-", "").toUpperCase()}_`;
  return Object.fromEntries(Object.entries(secrets).map(([name, value]) => [`${prefix}${name}`, value]));
}

const outcomes: readonly OutcomeCase[] = cases.outcomes as OutcomeCase[];
const deliveries: readonly DeliveryCase[] = cases.deliveries as unknown as DeliveryCase[];

const name = "api.test.example";

/** The servers of bytes: what they do with a connection. */
const talks: Readonly<Record<string, (socket: Socket) => void>> = {
  closing: (socket) => socket.once("data", () => socket.destroy()),
  reset: (socket) => socket.once("data", () => socket.resetAndDestroy()),
  garbage: (socket) => socket.once("data", () => socket.end("nonsense\r\n\r\n")),
  breaking: (socket) =>
    socket.once("data", () => socket.end("HTTP/1.1 404 Not Found\r\ncontent-length: 99\r\n\r\nx")),
  dripping: (socket) => {
    socket.write("HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n");
    const timer = setInterval(() => socket.write("x"), 5);
    socket.on("close", () => clearInterval(timer));
  },
  silent: () => undefined,
};

interface Scene {
  readonly url: string;
  readonly egress: EgressSource;
}

async function sceneOf({
  url,
  server = "http",
  status,
  headers,
  body_bytes,
  egress,
}: OutcomeCase): Promise<Scene> {
  const policy = egress ?? loopbackEgress;
  const talk = talks[server];
  if (url !== undefined) return { url, egress: policy };
  if (talk !== undefined) return { url: `http://127.0.0.1:${await startTcp(talk)}`, egress: policy };
  const closed = `http://127.0.0.1:${await closedPort()}`;
  if (server === "closed") return { url: closed, egress: policy };
  if (server === "proxy_down") return { url: `http://${name}/`, egress: { proxy: closed, allow_http: true } };
  if (server === "nameless" || server === "untrusted") {
    const [dns, certificates] = await Promise.all([startDns(), certificatesFor(name)]);
    if (server === "untrusted") dns.set(name, ["127.0.0.1"]);
    const { port } = await startServer((_, response) => response.end(), certificates);
    return { url: `https://${name}:${port}/`, egress: loopbackAnd({ dns_servers: [dns.address] }) };
  }
  const responding = await startServer((_, response) =>
    response.writeHead(status ?? 200, headers).end("x".repeat(body_bytes ?? 0)),
  );
  if (server === "http") return { url: responding.url, egress: policy };
  const unreadable = async (): Promise<never> => {
    throw new Error("the policy is out of reach");
  };
  return { url: responding.url, egress: unreadable };
}

function endOf({ job }: Ran): string {
  if (job.status === "queued") return job.uncounted > 0 ? "deferred" : "retry";
  return job.status === "failed" ? "final" : job.status;
}

/** A program of another version may enqueue what this one does not understand. */
function unchecked({ type }: { readonly type: string }): JobDefinition {
  return defineJob({ type, input: typed<object>() }) as JobDefinition;
}

test("the codes are the same", () => {
  expect([...finalCodes]).toEqual(cases.codes.final);
  expect([...retriedCodes]).toEqual(cases.codes.retried);
});

test.for(outcomes)("$name: http $http, webhook $webhook", async (outcome, { db, forge }) => {
  const { url, egress } = await sceneOf(outcome);
  const { run } = runner(forge, { egress, secrets: environmentSecrets(variablesOf(outcome.secrets)) });
  // Another version may have stored what `forge.connectors.set` would refuse.
  for (const type of outcome.config === undefined ? [] : ["http.request", "webhook.deliver"])
    await db.query("insert into jobforge.connector_configs values ($1, $2, $3, now(), now())", [
      ...[T, type, outcome.config],
    ]);
  const brief = ["silent", "dripping"].includes(outcome.server ?? "") ? { timeout_ms: 500 } : {};
  const http = await run(unchecked(httpRequest), { url, ...brief, ...outcome.payload });
  const codeOf = ({ error }: Ran): unknown => error?.details?.["code"];
  expect([endOf(http), codeOf(http)], JSON.stringify(http.error)).toEqual([
    outcome.http,
    outcome.http === "succeeded" ? undefined : outcome.code,
  ]);
  const event = { type: "a" };
  const webhook = await run(unchecked(webhookDeliver), { url, event, ...brief, ...outcome.webhook_payload });
  expect([endOf(webhook), codeOf(webhook)], JSON.stringify(webhook.error)).toEqual([
    outcome.webhook,
    outcome.webhook === "succeeded" ? undefined : (outcome.webhook_code ?? outcome.code),
  ]);
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
  const waits = attempts.map((attempt) => retryDelayMs({ ...webhookRetry, jitter: 0 }, attempt) / 1000);
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
    const hosts = Object.keys(delivery.secrets).map((name) => [name, { hosts: ["127.0.0.1"] }]);
    const { run } = runner(forge, {
      egress: loopbackAnd({ secrets: Object.fromEntries(hosts) }),
      secrets: environmentSecrets(variablesOf(delivery.secrets)),
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
