/** Deliveries to endpoints of the database, as the end of a job makes them, through a worker. */
import { defineJob, type JobForge, type WebhookEndpoint } from "@jobforge/sdk-ts";
import { describe, expect } from "vitest";
import { makeWorker } from "../../../worker-ts/test/support/work.ts";
import {
  type ConnectorOptions,
  connectors,
  deriveKey,
  type EgressDocument,
  environmentSecrets,
  loopbackEgress,
  masterKeysOf,
  receiverSecret,
  webhookDeliver,
} from "../../src/index.ts";
import { verifyLegacyWebhook, verifyWebhook } from "../../src/verify.ts";
import { loopbackAnd, otherTenant, runner, T, test } from "../support/run.ts";
import { type Received, startServer } from "../support/servers.ts";

const masterKeys = { default: Buffer.alloc(32, 5), next: Buffer.alloc(32, 6) };
const work = defineJob({ type: "work" });
const done = work.handle(async () => ({ ok: true }));

/** What the receiver of an endpoint verifies with. */
function secretOf({ id, tenantId, signature, keys }: WebhookEndpoint, index = 0): string {
  const { version = 0, masterKey = "" } = keys[index] ?? {};
  const kind = signature === "ed25519" ? "ed25519" : "hmac";
  const key = masterKeys[masterKey as keyof typeof masterKeys];
  return receiverSecret(deriveKey(key, { tenantId, endpointId: id, version }, kind));
}

function worker(forge: JobForge, options: Partial<ConnectorOptions> = {}): ReturnType<typeof makeWorker> {
  const handlers = connectors({ forge, egress: loopbackEgress, webhooks: { masterKeys }, ...options });
  return makeWorker(forge, { handlers: [done, ...handlers], sync: false });
}

/** Ends one job of the tenant and delivers its event. */
async function endAndDeliver(forge: JobForge, of = worker(forge), tenantId = T): Promise<string> {
  const { id } = await forge.enqueue(work, {}, { tenantId });
  for (let round = 0; round < 2; round += 1) await of.tick({ limit: 10 });
  return id;
}

async function lastDelivery(forge: JobForge, { tenantId, id }: WebhookEndpoint) {
  const [job] = (await forge.webhooks.deliveries({ tenantId, id }).page()).items;
  if (job === undefined) throw new Error("There is no delivery.");
  return job;
}

function firstOf({ received }: { readonly received: readonly Received[] }): Received {
  const [request] = received;
  if (request === undefined) throw new Error("Nothing was received.");
  return request;
}

describe("the end of a job", () => {
  test("is delivered with its id, signed with every key of a rotation", async ({ forge }) => {
    const server = await startServer((_, response) => response.end());
    const { id, tenantId } = await forge.webhooks.create(T, { url: server.url, include: ["result"] });
    const endpoint = await forge.webhooks.rotate({ tenantId, id }, { masterKey: "next" });
    const job = await endAndDeliver(forge);
    expect(await lastDelivery(forge, endpoint)).toMatchObject({ status: "succeeded" });
    const request = firstOf(server);
    for (const index of [0, 1]) {
      const verified = await verifyWebhook({ ...request, secret: secretOf(endpoint, index) });
      expect(verified).toMatchObject({
        id: `${job}-1`,
        event: { type: "job.succeeded", data: { id: job, type: "work", result: { ok: true } } },
      });
    }
    expect(endpoint.keys.map(({ masterKey }) => masterKey)).toEqual(["next", "default"]);
  });

  test("has the format, headers and signature of the endpoint", async ({ forge }) => {
    const server = await startServer((_, response) => response.end());
    const prefix = `JOBFORGE_SECRET_${T.replaceAll("-", "").toUpperCase()}`;
    const options = {
      secrets: environmentSecrets({ [`${prefix}_HOOK`]: "s3cret" }),
      egress: loopbackAnd({ secrets: { HOOK: { hosts: ["127.0.0.1"] } } }),
    };
    const endpoint = await forge.webhooks.create(T, {
      url: server.url,
      format: "cloudevents",
      headers: { authorization: { $secret: "HOOK" }, "x-origin": "jobs" },
    });
    const job = await endAndDeliver(forge, worker(forge, options));
    const request = firstOf(server);
    expect(request.headers).toMatchObject({
      "content-type": "application/cloudevents+json",
      authorization: "s3cret",
      "x-origin": "jobs",
    });
    expect(JSON.parse(request.body)).toMatchObject({
      specversion: "1.0",
      id: `${job}-1`,
      source: `jobforge/${T}`,
      type: "dev.jobforge.job.succeeded",
      subject: job,
    });
    await verifyWebhook({ ...request, secret: secretOf(endpoint) });
  });

  test.for([
    ["standard", "both"],
    ["legacy", "standard"],
  ] as const)(
    "in the format %s with the signature %s has the older header",
    async ([format, signature], { forge }) => {
      const server = await startServer((_, response) => response.end());
      const endpoint = await forge.webhooks.create(T, { url: server.url, format, signature });
      await endAndDeliver(forge);
      const secret = secretOf(endpoint);
      const { headers, body } = firstOf(server);
      if (format === "legacy") await verifyLegacyWebhook({ headers, body, secret });
      else await verifyWebhook({ headers, body, secret });
      expect(headers["x-jobforge-signature"]).toMatch(/^sha256=[0-9a-f]{64}$/);
      expect("webhook-signature" in headers).toBe(format !== "legacy");
    },
  );

  test("is verified with the public key of an endpoint with ed25519, which has no older form", async ({
    forge,
  }) => {
    const server = await startServer((_, response) => response.end());
    const endpoint = await forge.webhooks.create(T, { url: server.url, signature: "ed25519" });
    await endAndDeliver(forge);
    expect(secretOf(endpoint)).toMatch(/^whpk_/);
    await verifyWebhook({ ...firstOf(server), secret: secretOf(endpoint) });
    const legacy = { url: server.url, signature: "ed25519", format: "legacy" } as const;
    await expect(forge.webhooks.create(T, legacy)).rejects.toMatchObject({ field: "signature" });
  });

  test("of two tenants goes over two connections, with two keys, to each one's endpoint", async ({
    forge,
  }) => {
    const server = await startServer((_, response) => response.end());
    const one = worker(forge);
    const [mine, theirs] = [
      await forge.webhooks.create(T, { url: `${server.url}/mine` }),
      await forge.webhooks.create(otherTenant, { url: `${server.url}/theirs` }),
    ];
    await endAndDeliver(forge, one, T);
    await endAndDeliver(forge, one, otherTenant);
    const [first, second] = server.received;
    expect([first?.url, second?.url]).toEqual(["/mine", "/theirs"]);
    expect(first?.clientPort).not.toBe(second?.clientPort);
    const wrong = verifyWebhook({ ...firstOf(server), secret: secretOf(theirs) });
    await expect(wrong).rejects.toThrow("signature");
    await verifyWebhook({ ...firstOf(server), secret: secretOf(mine) });
    // A delivery that names the endpoint of another tenant finds none.
    const payload = { endpoint_id: theirs.id, event: { type: "a" } };
    const { error } = await runner(forge, { webhooks: { masterKeys } }).run(webhookDeliver, payload);
    expect(error.details).toMatchObject({ code: "endpoint_unknown" });
  });
});

describe("a failure", () => {
  test("with status 410 disables the endpoint: later deliveries wait, and go out when it is enabled", async ({
    forge,
  }) => {
    const server = await startServer((_, response) => {
      response.writeHead(server.received.length === 1 ? 410 : 204).end();
    });
    const endpoint = await forge.webhooks.create(T, { url: server.url });
    const one = worker(forge);
    await endAndDeliver(forge, one);
    expect(await lastDelivery(forge, endpoint)).toMatchObject({ status: "failed" });
    expect(await forge.webhooks.get(endpoint)).toMatchObject({
      state: "disabled",
      reason: "The receiver responded with status 410.",
    });
    await endAndDeliver(forge, one);
    expect(await lastDelivery(forge, endpoint)).toMatchObject({ status: "queued", attempts: 0 });
    expect(server.received).toHaveLength(1);
    await forge.webhooks.enable(endpoint);
    const received = async (): Promise<number> => {
      await one.tick({ limit: 10 });
      return server.received.length;
    };
    await expect.poll(received).toBe(2);
    expect(await lastDelivery(forge, endpoint)).toMatchObject({ status: "succeeded" });
  });

  test("that a client enqueues itself waits while the endpoint is disabled", async ({ forge }) => {
    const server = await startServer((_, response) => response.end());
    const endpoint = await forge.webhooks.create(T, { url: server.url });
    await forge.webhooks.disable(endpoint);
    const one = worker(forge);
    const payload = { endpoint_id: endpoint.id, event: { type: "a" } };
    const { id } = await forge.enqueue(webhookDeliver, payload, { tenantId: T });
    await one.tick({ limit: 1 });
    expect(await forge.get(id, { tenantId: T })).toMatchObject({ status: "queued", attempts: 0 });
    await forge.webhooks.enable(endpoint);
    await one.tick({ limit: 1 });
    expect(await forge.get(id, { tenantId: T })).toMatchObject({ status: "succeeded", attempts: 1 });
    expect(server.received).toHaveLength(1);
  });

  test("with Retry-After holds all deliveries of the endpoint, and no others", async ({ forge }) => {
    const server = await startServer((request, response) => {
      response.writeHead(request.url === "/busy" ? 429 : 204, { "retry-after": "600" }).end();
    });
    const busy = await forge.webhooks.create(T, { url: `${server.url}/busy` });
    await forge.webhooks.create(T, { url: `${server.url}/other` });
    const started = Date.now();
    const one = worker(forge);
    await endAndDeliver(forge, one);
    const { heldUntil } = await forge.webhooks.get(busy);
    expect(heldUntil?.getTime()).toBeGreaterThanOrEqual(started + 600_000);
    expect((await lastDelivery(forge, busy)).runAt.getTime()).toBeGreaterThanOrEqual(started + 600_000);
    await endAndDeliver(forge, one);
    expect(server.received.map(({ url }) => url).toSorted()).toEqual(["/busy", "/other", "/other"]);
    expect(await lastDelivery(forge, busy)).toMatchObject({ status: "queued", attempts: 0 });
  });

  test("is retried by the schedule of the endpoint, whose last wait repeats", async ({ forge }) => {
    const server = await startServer((_, response) => response.writeHead(500).end());
    const endpoint = await forge.webhooks.create(T, { url: server.url, retrySchedule: [1000, 2000] });
    const one = worker(forge);
    await endAndDeliver(forge, one);
    for (const [attempts, seconds] of [
      [1, 1000],
      [2, 2000],
      [3, 2000],
    ] as const) {
      const job = await lastDelivery(forge, endpoint);
      expect(job).toMatchObject({ status: "queued", attempts });
      const wait = (job.runAt.getTime() - Date.now()) / 1000;
      expect(Math.round(wait / 1000) * 1000).toBe(seconds);
      await forge.reschedule(job.id, { tenantId: T });
      await one.tick({ limit: 10 });
    }
  });

  test("to read the endpoint, or its master key, is retried and sends nothing", async ({ forge }) => {
    const server = await startServer((_, response) => response.end());
    const endpoint = await forge.webhooks.create(T, { url: server.url, masterKey: "lost" });
    await endAndDeliver(forge);
    expect(await lastDelivery(forge, endpoint)).toMatchObject({
      status: "queued",
      error: { details: { code: "secret_unavailable" } },
    });
    const endpoints = async (): Promise<never> => {
      throw new Error("the database is down");
    };
    const { job, error } = await runner(forge, { webhooks: { masterKeys, endpoints } }).run(webhookDeliver, {
      endpoint_id: endpoint.id,
      event: { type: "a" },
    });
    expect([job.status, error.message]).toEqual(["queued", "the database is down"]);
    expect(server.received).toEqual([]);
  });
});

describe("the egress policy of the database", () => {
  test("widens what every connector reaches, for all tenants or for one", async ({ forge }) => {
    const server = await startServer((_, response) => response.end());
    const egress: EgressDocument = {};
    const codeOf = async (tenantId: string): Promise<unknown> => {
      const payload = { url: server.url, event: { type: "a" } };
      // A new worker has nothing in its cache.
      const { job, error } = await runner(forge, { egress }).run(webhookDeliver, payload, { tenantId });
      return job.status === "succeeded" ? "delivered" : error.details?.["code"];
    };
    expect(await codeOf(T)).toBe("blocked_scheme");
    await forge.egress.set({ allow_http: true });
    expect(await codeOf(T)).toBe("blocked_address");
    await forge.egress.set({ allow_cidrs: ["127.0.0.0/8"] }, { tenantId: T });
    expect(await codeOf(T)).toBe("delivered");
    expect(await codeOf(otherTenant)).toBe("blocked_address");
  });

  test("that cannot be read or understood is a retry, never no policy", async ({ db, forge }) => {
    const server = await startServer((_, response) => response.end());
    const payload = { url: server.url, event: { type: "a" } };
    await db.query("insert into jobforge.egress_policies values ($1, $2, now(), 'test')", [
      T,
      { allow_cidr: ["127.0.0.0/8"] },
    ]);
    const unknown = await runner(forge).run(webhookDeliver, payload);
    expect([unknown.job.status, unknown.error.details?.["code"]]).toEqual(["queued", "config_unavailable"]);
    await db.query("drop table jobforge.egress_policies");
    const gone = await runner(forge).run(webhookDeliver, payload);
    expect([gone.job.status, gone.error.details?.["code"]]).toEqual(["queued", "config_unavailable"]);
    expect(server.received).toEqual([]);
  });
});

test("master keys have names, and a key of the wrong length is refused", () => {
  const [first, second] = [1, 2].map((fill) => Buffer.alloc(32, fill));
  const name = "JOBFORGE_WEBHOOK_MASTER_KEY";
  const env = { [name]: first?.toString("base64"), [`${name}_2027`]: second?.toString("hex"), OTHER: "x" };
  expect(masterKeysOf(env)).toEqual({ default: first, 2027: second });
  expect(masterKeysOf({ [name]: "" })).toEqual({});
  expect(() => masterKeysOf({ [`${name}_2027`]: "c2hvcnQ=" })).toThrow(`${name}_2027 must be 32 bytes`);
});
