/** /v1/webhooks and /v1/events. */
import { deriveKey, receiverSecret, webhookSecrets } from "@jobforge/connectors";
import { expect } from "vitest";
import { clientOf, type Reply, test } from "../support/client.ts";
import { appToken, sign, startServer, T, U } from "../support/server.ts";

const url = "https://example.com/hooks";

test("a tenant creates, changes, steers and deletes an endpoint", async ({ app }) => {
  const made = await app("/v1/webhooks", { body: { url, events: ["job.*"], tags: ["vip"] } });
  expect(made).toMatchObject({ status: 201, body: { url, state: "enabled", keys: [{ version: 1 }] } });
  const id = String(made.body["id"]);
  const path = `/v1/webhooks/${id}`;
  expect(made.headers.get("location")).toBe(path);
  expect((await app(path)).body).toEqual(made.body);
  const changed = await app(path, { method: "PATCH", body: { format: "cloudevents", tags: null } });
  expect(changed.body).toMatchObject({ format: "cloudevents", tags: [], events: ["job.*"] });
  expect((await app("/v1/webhooks")).body).toEqual({ items: [changed.body], cursor: null });
  const steer = (verb: string, body: object = {}): Promise<Reply> => app(`${path}/${verb}`, { body });
  expect((await steer("disable", { reason: "moving" })).body).toMatchObject({ reason: "moving" });
  expect((await steer("enable")).body).toMatchObject({ state: "enabled", reason: null });
  expect((await steer("rotate", { keep: "2 days" })).body).toMatchObject({
    keys: [{ version: 2 }, { version: 1, until: expect.any(String) }],
  });
  expect((await steer("test")).body).toEqual({ id: expect.any(String), job_id: expect.any(String) });
  expect((await app(path, { method: "DELETE" })).body).toEqual({ id, deleted: true, canceled: 1 });
  expect(await app(path)).toMatchObject({ status: 404, body: { code: "JF016" } });
});

test("the audit log names the person who changed an endpoint", async ({ http }) => {
  const ada = { email: "ada@example.com" };
  const tenant = clientOf(http, await sign({ role: "jobforge_app", tenant_id: T, ...ada }));
  const { body } = await tenant("/v1/webhooks", { body: { url } });
  const actor = "ada@example.com (jobforge_app)";
  await tenant(`/v1/webhooks/${body["id"]}/disable`, { body: {} });
  const entries = (await tenant("/v1/audit?entity_type=webhook_endpoint")).body["items"] as {
    actor: string;
  }[];
  expect(entries.map((entry) => entry.actor)).toEqual([actor, actor]);
});

test("deliveries of events and of ends of jobs are listed and replayed", async ({ app }) => {
  const { body } = await app("/v1/webhooks", { body: { url, events: ["job.canceled", "invoice.*"] } });
  const path = `/v1/webhooks/${body["id"]}`;
  const sent = await app("/v1/events", { body: { type: "invoice.paid", id: "inv-1", data: { n: 1 } } });
  expect(sent.body).toEqual({ id: "inv-1", deliveries: [expect.any(String)] });
  const job = await app("/v1/jobs", { body: { type: "a", notify: { endpoint_id: body["id"] } } });
  await app(`/v1/jobs/${job.body["id"]}/cancel`, { method: "POST" });
  const page = (query = ""): Promise<Reply> => app(`${path}/deliveries?${query}`);
  expect((await page()).body["items"]).toMatchObject([
    { tags: ["job.canceled"] },
    { tags: ["invoice.paid"] },
  ]);
  const [newest] = (await page("limit=1")).body["items"] as { id: string }[];
  expect((await page("limit=1")).body["cursor"]).toBe(newest?.id);
  await app(`/v1/jobs/${newest?.id}/cancel`, { method: "POST" });
  const again = await app(`${path}/replay`, { body: { filters: { status: "canceled" }, limit: 10 } });
  expect(again.body).toEqual({ matched: 1, replayed: 1 });
  expect((await page("tags=job.canceled&status=queued")).body["items"]).toHaveLength(1);
});

test("the server shows the secrets to the tenant and to operators, not to workers", async ({ db }) => {
  const masterKey = Buffer.alloc(32, 5);
  await using http = await startServer(db, { webhookSecrets: webhookSecrets({ default: masterKey }) });
  const app = clientOf(http, await appToken(T));
  const { body } = await app("/v1/webhooks", { body: { url } });
  const id = String(body["id"]);
  await app(`/v1/webhooks/${id}/rotate`, { body: {} });
  const secretOf = (version: number): string =>
    receiverSecret(deriveKey(masterKey, { tenantId: T, endpointId: id, version }));
  const shown = await app(`/v1/webhooks/${id}/secret`);
  expect(shown.body).toEqual({
    items: [
      { version: 2, secret: secretOf(2) },
      { version: 1, secret: secretOf(1), until: expect.any(String) },
    ],
  });
  expect(shown.headers.get("cache-control")).toContain("no-store");
  const operator = clientOf(http, await sign({ role: "jobforge_operator" }));
  expect((await operator(`/v1/webhooks/${id}/secret?tenant_id=${T}`)).body).toEqual(shown.body);
  const worker = clientOf(http, await sign({ role: "jobforge_worker" }));
  expect((await worker(`/v1/webhooks/${id}?tenant_id=${T}`)).status).toBe(200);
  expect((await worker(`/v1/webhooks/${id}/secret?tenant_id=${T}`)).status).toBe(403);
  const other = clientOf(http, await appToken(U));
  expect((await other(`/v1/webhooks/${id}/secret`)).status).toBe(404);
  const { body: lost } = await app("/v1/webhooks", { body: { url, master_key: "lost" } });
  expect((await app(`/v1/webhooks/${lost["id"]}/secret`)).body).toMatchObject({ name: "no_master_key" });
});

test("a server without master keys says so, and mistakes are named", async ({ app }) => {
  const { body } = await app("/v1/webhooks", { body: { url } });
  expect(await app(`/v1/webhooks/${body["id"]}/secret`)).toMatchObject({
    status: 404,
    body: { name: "no_master_key", hint: expect.stringContaining("JOBFORGE_WEBHOOK_MASTER_KEY") },
  });
  for (const [wrong, field] of [
    [{ url: "ftp://example.com" }, "url"],
    [{ url, evnts: [] }, "evnts"],
    [{ url, format: "xml" }, "format"],
  ] as const)
    expect(await app("/v1/webhooks", { body: wrong })).toMatchObject({ status: 400, body: { field } });
  expect(await app("/v1/events", { body: { type: "job.dead" } })).toMatchObject({ status: 400 });
});
