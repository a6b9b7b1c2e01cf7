/** `connector.webhook.deliver`: what receivers get, and that they get it again after a crash. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { describe, expect, onTestFinished } from "vitest";
import { Happening } from "../../../worker-ts/test/support/happening.ts";
import { deriveKey, environmentSecrets, receiverSecret, webhookDeliver } from "../../src/index.ts";
import { verifyWebhook } from "../../src/verify.ts";
import { loopbackAnd, runner, T, test } from "../support/run.ts";
import { startServer } from "../support/servers.ts";

const [current, previous] = [1, 2].map((fill) => `whsec_${Buffer.alloc(32, fill).toString("base64")}`);
const prefix = `JOBFORGE_SECRET_${T.replaceAll("-", "").toUpperCase()}`;
const secrets = environmentSecrets({
  [`${prefix}_HOOK`]: current,
  [`${prefix}_OLD_HOOK`]: previous,
});
const bound = { hosts: ["127.0.0.1"] };
const egress = loopbackAnd({ secrets: { HOOK: bound, OLD_HOOK: bound } });

describe("a delivery", () => {
  test("is signed with every secret of a rotation, and its body is what was signed", async ({ forge }) => {
    const server = await startServer((_, response) => response.end("thanks"));
    const { job, result } = await runner(forge, { egress, secrets }).run(webhookDeliver, {
      url: `${server.url}/hook`,
      secret: [{ $secret: "HOOK" }, { $secret: "OLD_HOOK" }],
      event: { type: "invoice.paid", data: { name: "Grüße", n: 1 } },
    });
    expect(job.status, JSON.stringify(job.error)).toBe("succeeded");
    expect(result).toMatchObject({
      delivered: true,
      status: 200,
      webhook_id: job.id,
      attempt: 1,
      response_preview: "thanks",
    });
    expect(JSON.stringify(result)).not.toContain("v1,");
    const [request] = server.received;
    for (const secret of [current, previous]) {
      const { id, event } = await verifyWebhook({
        body: request?.body ?? "",
        headers: request?.headers ?? {},
        secret: secret ?? "",
      });
      expect(id).toBe(job.id);
      expect(event).toEqual({
        type: "invoice.paid",
        timestamp: job.createdAt.toISOString(),
        data: { name: "Grüße", n: 1 },
      });
    }
  });

  test("to an endpoint is signed with keys that are derived for it", async ({ forge }) => {
    const server = await startServer((_, response) => response.end());
    const endpointId = "33333333-3333-4333-8333-333333333333";
    const masterKey = Buffer.alloc(32, 5);
    const { run } = runner(forge, {
      webhooks: {
        masterKeys: { default: masterKey },
        endpoints: async (tenantId, id) =>
          tenantId === T && id === endpointId
            ? { url: server.url, secretVersion: 2, previousVersions: [1] }
            : undefined,
      },
    });
    await run(webhookDeliver, { endpoint_id: endpointId, event: { type: "a" } });
    const [request] = server.received;
    for (const version of [1, 2]) {
      const secret = receiverSecret(deriveKey(masterKey, { tenantId: T, endpointId, version }));
      await verifyWebhook({ body: request?.body ?? "", headers: request?.headers ?? {}, secret });
    }
    const unknown = await run(webhookDeliver, {
      endpoint_id: "44444444-4444-4444-8444-444444444444",
      event: { type: "a" },
    });
    expect(unknown.job.status).toBe("failed");
    expect(unknown.error.details).toMatchObject({ code: "endpoint_unknown" });
  });

  test("without an event, or with an id that contains a full stop, is refused at enqueue", async ({
    forge,
  }) => {
    const url = "https://hooks.example.com/";
    const enqueue = (input: object): Promise<unknown> =>
      forge.enqueue(webhookDeliver, input as never, { tenantId: T });
    await expect(enqueue({ url })).rejects.toThrow("event");
    await expect(enqueue({ url, event: { type: "a", id: "a.b" } })).rejects.toThrow("payload.event.id");
    await expect(enqueue({ event: { type: "a" } })).rejects.toThrow("must have one of url and endpoint_id");
  });
});

test("a worker that is killed in a delivery: it is delivered again with the same webhook-id", async ({
  db,
  forge,
}) => {
  const arrived = new Happening();
  // The first request gets no response.
  const server = await startServer((_, response) => {
    if (server.received.length === 1) arrived.now();
    else response.end();
  });
  const start = (): ReturnType<typeof spawn> => {
    const fixture = join(import.meta.dirname, "../fixtures/worker.ts");
    const child = spawn(process.execPath, ["--import", "tsx", fixture], {
      cwd: join(import.meta.dirname, "../../../.."),
      env: { PATH: process.env["PATH"], DATABASE_URL: db.url, LOG_LEVEL: "silent" },
      stdio: "ignore",
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    return child;
  };
  const job = await forge.enqueue(webhookDeliver, { url: server.url, event: { type: "a" } }, { tenantId: T });
  const first = start();
  await arrived.once();
  first.kill("SIGKILL");
  // A new instance under the same name tells the database that the first one is gone.
  start();
  await expect.poll(() => server.received.length, { timeout: 50_000 }).toBe(2);
  const ids = server.received.map(({ headers }) => headers["webhook-id"]);
  expect(ids).toEqual([job.id, job.id]);
  expect(await forge.result(job.id, { tenantId: T, timeoutMs: 30_000 })).toMatchObject({
    delivered: true,
    attempt: 2,
  });
});
