/** GET /v1/artifacts: a job's artifacts, for those who may read the job, as attachments that can do nothing. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ArtifactStore, fileStore } from "@jobforge/connectors";
import { ArtifactNotFoundError, ArtifactStoreRequiredError, defineJob, JobForge } from "@jobforge/sdk-ts";
import type { TestDatabase } from "@jobforge/testing";
import { createWorker } from "@jobforge/worker-ts";
import { expect, onTestFinished } from "vitest";
import { appToken, type Running, sign, startServer, T, test, U } from "../support/server.ts";

const quiet = (): void => undefined;
const silent = { debug: quiet, info: quiet, warn: quiet, error: quiet };
const page = "<script>alert(1)</script>";

async function temporaryStore(): Promise<ArtifactStore> {
  const folder = await mkdtemp(join(tmpdir(), "jobforge-artifacts-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return fileStore(folder);
}

/** A job of a tenant with a report in the store. */
async function report(
  db: TestDatabase,
  store: ArtifactStore,
  tenant = T,
): Promise<{ id: string; ref: string }> {
  const id = await db.value<string>("select jobforge_enqueue_job($1, 'report') ->> 'id'", [tenant]);
  const content = (async function* () {
    yield Buffer.from(page);
  })();
  const key = `reports/${tenant}/${id}/usage.html`;
  const { ref } = await store.put(key, content, { contentType: "text/html" });
  return { id, ref };
}

async function withStore(db: TestDatabase): Promise<{ http: Running; store: ArtifactStore }> {
  const store = await temporaryStore();
  const http = await startServer(db, { artifacts: store });
  onTestFinished(() => http[Symbol.asyncDispose]());
  return { http, store };
}

test("is downloaded, and cannot act in a browser", async ({ db }) => {
  const { http, store } = await withStore(db);
  const { id } = await report(db, store);
  const path = `/v1/artifacts/reports/${id}/usage.html`;
  for (const method of ["GET", "HEAD"]) {
    const response = await http.request(path, { method, token: await appToken(T) });
    expect(response.status).toBe(200);
    expect(await response.text()).toBe(method === "GET" ? page : "");
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-disposition": 'attachment; filename="usage.html"',
      "content-security-policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:",
      "content-type": "text/html; charset=utf-8",
      "x-content-type-options": "nosniff",
      "cache-control": "private, no-store",
    });
  }
  const operator = await sign({ role: "jobforge_operator" });
  expect((await http.request(`${path}?tenant_id=${T}`, { token: operator })).status).toBe(200);
});

test("does not exist for others, and looks like one that was never there", async ({ db }) => {
  const { http, store } = await withStore(db);
  const { id } = await report(db, store);
  const own = await report(db, store, U);
  const path = `/v1/artifacts/reports/${id}/usage.html`;
  const get = async (where: string, token: string | undefined): Promise<unknown> => {
    const response = await http.request(where, { token });
    return response.status === 404 ? await response.json() : response.status;
  };
  const other = await appToken(U);
  const missing = await get(`/v1/artifacts/reports/${own.id}/none.html`, other);
  expect(missing).toMatchObject({ status: 404 });
  const same = { ...(missing as object), instance: expect.anything(), traceparent: expect.anything() };
  const found = await get(path, other);
  for (const key of ["status", "title", "detail", "name"])
    expect((found as Record<string, unknown>)[key]).toEqual((same as Record<string, unknown>)[key]);
  expect(await get(`${path}?tenant_id=${T}`, other)).toBe(403);
  expect(await get(path, undefined)).toBe(401);
  expect(await get(path, await sign({ role: "jobforge_reader" }))).toBe(403);
  for (const name of ["..", "%2e%2e%2f%2e%2e", "a%2Fb"])
    expect([400, 404]).toContain(
      (await http.request(`/v1/artifacts/reports/${id}/${name}`, { token: other })).status,
    );
});

test("a server without a store says so", async ({ db, http }) => {
  const { id } = await report(db, await temporaryStore());
  const response = await http.request(`/v1/artifacts/reports/${id}/usage.html`, { token: await appToken(T) });
  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject({ name: "no_artifact_store" });
});

test("the SDK reads it from its store or through the server, under its tenant only", async ({ db }) => {
  const { http, store } = await withStore(db);
  const { ref } = await report(db, store);
  const bare = new JobForge({ database: db.url });
  onTestFinished(() => bare.close());
  const clients = [
    new JobForge({ url: http.url, token: await appToken(T) }),
    new JobForge({ database: db.url, artifacts: store }),
  ];
  for (const forge of clients) {
    onTestFinished(() => forge.close());
    expect(await forge.artifacts.text(ref, { tenantId: T })).toBe(page);
    expect(await forge.within({ timeoutMs: 10_000 }).artifacts.text(ref, { tenantId: T })).toBe(page);
    await expect(forge.artifacts.text(ref, { tenantId: U })).rejects.toThrow(ArtifactNotFoundError);
    const gone = ref.replace("usage", "other");
    await expect(forge.artifacts.text(gone, { tenantId: T })).rejects.toThrow(ArtifactNotFoundError);
    await expect(forge.artifacts.text("file:/etc/passwd", { tenantId: T })).rejects.toThrow(
      ArtifactNotFoundError,
    );
  }
  const foreign = new JobForge({ url: http.url, token: await appToken(U) });
  onTestFinished(() => foreign.close());
  await expect(foreign.artifacts.text(ref, { tenantId: T })).rejects.toMatchObject({ kind: "forbidden" });
  await expect(bare.artifacts.text(ref, { tenantId: T })).rejects.toThrow(ArtifactStoreRequiredError);
});

test("a client over HTTP without a store offloads through the server", async ({ db }) => {
  const { http, store } = await withStore(db);
  const echo = defineJob({ type: "echo" });
  const text = "ä".repeat(700_000);
  await using remote = new JobForge({ url: http.url, token: await appToken(T) });
  const job = await remote.enqueue(echo, { text }, { tenantId: T, offload: true });
  await using local = new JobForge({ database: db.url, artifacts: store });
  const handlers = [echo.handle(async (input) => input)];
  await createWorker(local, { handlers, offload: true, sync: false, logger: silent }).tick();
  expect(await job.result()).toEqual({ text });
  expect((await job.get())?.payload).toEqual({ text });
  await using foreign = new JobForge({ url: http.url, token: await appToken(U) });
  await expect(foreign.enqueue(echo, { text }, { tenantId: T, offload: true })).rejects.toMatchObject({
    kind: "forbidden",
  });
});

test("a stored payload must be JSON, and a server without a store says so", async ({ db, http: bare }) => {
  const { http } = await withStore(db);
  const post = async (server: Running, body: string, type = "application/json"): Promise<number> => {
    const headers = { "content-type": type };
    const token = await appToken(T);
    return (await server.request("/v1/artifacts/payloads", { method: "POST", token, headers, body })).status;
  };
  expect(await post(http, '{"a": 1}')).toBe(200);
  expect(await post(http, "{")).toBe(400);
  expect(await post(http, "a=1", "text/plain")).toBe(415);
  expect(await post(bare, "{}")).toBe(404);
});

test("of an offloaded payload is served to those who may read the job, at once", async ({ db }) => {
  const { http, store } = await withStore(db);
  await using forge = new JobForge({ database: db.url, artifacts: store });
  const text = "x".repeat(600_000);
  const job = await forge.enqueue(defineJob({ type: "echo" }), { text }, { tenantId: T, offload: true });
  const payload = (await forge.get(job.id, { tenantId: T }))?.payload as { $artifact: string };
  const path = `/v1/artifacts/${payload.$artifact.replace("artifact:", "").replace(`${T}/`, "")}`;
  expect(await (await http.request(path, { token: await appToken(T) })).json()).toEqual({ text });
  expect((await http.request(path, { token: await appToken(U) })).status).toBe(404);
  expect((await http.request(path, {})).status).toBe(401);
});
