/** `connector.webhook.deliver`: what receivers get, and that they get it again after a crash. */
import { spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { join } from "node:path";
import { describe, expect, onTestFinished } from "vitest";
import { Happening } from "../../../worker-ts/test/support/happening.ts";
import { makeWorker } from "../../../worker-ts/test/support/work.ts";
import { connectors, environmentSecrets, webhookDeliver } from "../../src/index.ts";
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

  test("has data that is nested deeply", async ({ forge }) => {
    const server = await startServer((_, response) => response.end());
    const text = `${"[".repeat(3000)}${"]".repeat(3000)}`;
    const { job } = await runner(forge).run(webhookDeliver, {
      url: server.url,
      event: { type: "a", data: JSON.parse(text) },
    });
    expect(job.status, JSON.stringify(job.error)).toBe("succeeded");
    expect(server.received[0]?.body).toContain(text);
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

describe("the older form", () => {
  const older = { event_type: "contract.processed", data: { ok: true }, secret_ref: "HOOK" };

  test.for(["sha256", "sha512"] as const)(
    "has a signature with %s that a receiver computes from the raw body, in each attempt",
    async (algorithm, { forge }) => {
      const server = await startServer((_, response) => {
        response.writeHead(server.received.length === 1 ? 500 : 200).end();
      });
      const { run } = runner(forge, { egress, secrets });
      const payload = { ...older, target_url: server.url, event_id: "evt_7", signature_algo: algorithm };
      const { job } = await run(webhookDeliver, payload);
      expect([job.status, job.attempts]).toEqual(["queued", 1]);
      await forge.reschedule(job.id, { tenantId: T });
      await makeWorker(forge, { handlers: connectors({ forge, egress, secrets }), sync: false }).tick();
      expect(server.received).toHaveLength(2);
      for (const [index, { headers, body }] of server.received.entries()) {
        const hmac = createHmac(algorithm, current ?? "").update(body);
        expect(headers).toMatchObject({
          "x-jobforge-signature": `${algorithm}=${hmac.digest("hex")}`,
          "x-jobforge-event": "contract.processed",
          "x-jobforge-event-id": "evt_7",
          "x-jobforge-delivery-attempt": String(index + 1),
          "x-jobforge-timestamp": JSON.parse(body).timestamp,
        });
        expect(Object.keys(JSON.parse(body))).toEqual(["event_type", "event_id", "timestamp", "data"]);
      }
    },
  );

  test("without its secret is not sent, and the failure names no variable", async ({ forge }) => {
    const server = await startServer((_, response) => response.end());
    const payload = { ...older, target_url: server.url, secret_ref: "DATABASE_URL" };
    const { job, error } = await runner(forge, { egress, secrets }).run(webhookDeliver, payload);
    expect([job.status, error.details]).toEqual(["queued", { code: "secret_unavailable", sent: false }]);
    expect(JSON.stringify(job.error)).not.toMatch(/HOOK|DATABASE_URL|JOBFORGE_SECRET/);
    expect(server.received).toEqual([]);
  });
});

// It starts two processes, which takes long on a busy machine.
const patience = 120_000;

test("a worker that is killed in a delivery: it is delivered again with the same webhook-id", {
  timeout: 2 * patience,
}, async ({ db, forge }) => {
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
  await expect.poll(() => server.received.length, { timeout: patience }).toBe(2);
  const ids = server.received.map(({ headers }) => headers["webhook-id"]);
  expect(ids).toEqual([job.id, job.id]);
  expect(await forge.result(job.id, { tenantId: T, timeoutMs: patience })).toMatchObject({
    delivered: true,
    attempt: 2,
  });
});
