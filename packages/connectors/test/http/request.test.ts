/** `connector.http.request`: what is sent, and what is kept of the response. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { JobForge } from "@jobforge/sdk-ts";
import { describe, expect, onTestFinished } from "vitest";
import { environmentSecrets, fileStore, httpRequest } from "../../src/index.ts";
import { loopbackAnd, otherTenant, type Ran, runner, T, test } from "../support/run.ts";
import { startServer } from "../support/servers.ts";

test("a request is sent, and its JSON is the result", async ({ forge }) => {
  const server = await startServer((_, response) => {
    response.writeHead(200, { "content-type": "application/json; charset=utf-8", "x-other": "1" });
    response.end('{"name":"Grüße","n":1.5}');
  });
  const { job, result } = await runner(forge).run(httpRequest, { url: `${server.url}/v1/x?a=1` });
  expect(job.status, JSON.stringify(job.error)).toBe("succeeded");
  expect(result).toMatchObject({
    status: 200,
    success: true,
    url: `${server.url}/v1/x?a=1`,
    redirects: [],
    response_headers: { "content-type": "application/json; charset=utf-8" },
    json: { name: "Grüße", n: 1.5 },
    truncated: false,
    bytes: 26,
  });
  expect(result["response_body_preview"]).toBe('{"name":"Grüße","n":1.5}');
  const [request] = server.received;
  expect(request).toMatchObject({ method: "GET", url: "/v1/x?a=1" });
  expect(request?.headers).toMatchObject({
    "user-agent": expect.stringMatching(/^JobForge\/\d/),
    traceparent: expect.stringMatching(/^00-/),
    "accept-encoding": "identity",
  });
  expect(request?.headers).not.toHaveProperty("idempotency-key");
});

/** Runs one request against a server that sends this response. */
async function requested(
  forge: JobForge,
  payload: object,
  respond: Parameters<typeof startServer>[0] = (_, response) => response.end(),
): Promise<
  Ran & { readonly request: { readonly method?: string; readonly headers: object; readonly body: string } }
> {
  const server = await startServer(respond);
  const ran = await runner(forge).run(httpRequest, { url: `${server.url}/x`, ...payload } as never);
  const [request = { headers: {}, body: "" }] = server.received;
  return { ...ran, request };
}

describe("what is sent", () => {
  test.for([
    ["a text, byte for byte", { body: '{"a": 1.0}\n' }, '{"a": 1.0}\n', undefined],
    ["another value, as JSON", { body: { a: [1, "ü"] } }, '{"a":[1,"ü"]}', "application/json"],
    ["bytes", { body_base64: Buffer.from("ab\u0001").toString("base64") }, "ab\u0001", undefined],
  ] as const)("%s", async ([, given, body, type], { forge }) => {
    const { request, job } = await requested(forge, { method: "POST", ...given });
    expect(request).toMatchObject({ method: "POST", body });
    expect(request.headers).toMatchObject({ "idempotency-key": job.id });
    expect((request.headers as Record<string, unknown>)["content-type"]).toBe(type);
  });

  test("is an artifact of the tenant, and of no other tenant", async ({ forge }) => {
    const folder = await mkdtemp(join(tmpdir(), "jobforge-http-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const artifacts = fileStore(folder);
    const content = async function* (): AsyncGenerator<Buffer> {
      yield Buffer.from("from the ");
      yield Buffer.from("store");
    };
    const { ref } = await artifacts.put(`uploads/${T}/1/body.txt`, content(), { contentType: "text/plain" });
    const server = await startServer((_, response) => response.end());
    const { run } = runner(forge, { artifacts });
    const payload = { url: server.url, method: "PUT", body_artifact: ref } as const;
    expect((await run(httpRequest, payload)).job.status).toBe("succeeded");
    const foreign = await run(httpRequest, payload, { tenantId: otherTenant });
    expect([foreign.job.status, foreign.error.details?.["code"]]).toEqual(["failed", "artifact_unavailable"]);
    expect(server.received.map(({ body }) => body)).toEqual(["from the store"]);
  });

  test("has the idempotency header that the payload names, and none if it says so", async ({ forge }) => {
    const named = await requested(forge, { method: "PATCH", idempotency_header: "X-Request-Id" });
    expect(named.request.headers).toMatchObject({ "x-request-id": named.job.id });
    const none = await requested(forge, { method: "POST", idempotency_header: false });
    expect(none.request.headers).not.toHaveProperty("idempotency-key");
  });

  test("is narrowed by the configuration of the tenant", async ({ forge }) => {
    const config = {
      default_headers: { accept: "text/plain", "x-from": "config" },
      user_agent_suffix: "(acme)",
      max_bytes: 3,
      retry_schedule: [100, 7000],
    };
    await forge.connectors.set({ tenantId: T, type: "http.request" }, config);
    const { request, result } = await requested(
      forge,
      { headers: { Accept: "text/csv" }, response: { max_bytes: 100 } },
      (_, response) => response.end("abcdef"),
    );
    expect(request.headers).toMatchObject({
      accept: "text/csv",
      "x-from": "config",
      "user-agent": expect.stringMatching(/^JobForge\/\S+ \(acme\)$/),
    });
    expect(result).toMatchObject({ body: "abc", truncated: true });
    const { job } = await requested(forge, {}, (_, response) => response.writeHead(500).end());
    const wait = job.runAt.getTime() - Date.now();
    expect(wait).toBeGreaterThan(90_000);
    expect(wait).toBeLessThan(110_000);
  });
});

describe("what is kept", () => {
  test("is base64, if the database could not store it as text", async ({ forge }) => {
    for (const bytes of [Buffer.from([0xff, 0xfe]), Buffer.from("a\u0000b")]) {
      const { result, job } = await requested(forge, {}, (_, response) => response.end(bytes));
      expect(job.status).toBe("succeeded");
      expect(result).toMatchObject({ body: bytes.toString("base64"), body_encoding: "base64" });
    }
  });

  test("is text, if JSON is broken or would grow in the database", async ({ forge }) => {
    for (const text of ['{"a":', "[1e300]"]) {
      const { result } = await requested(forge, {}, (_, response) =>
        response.writeHead(200, { "content-type": "application/json" }).end(text),
      );
      expect(result).toMatchObject({ body: text });
      expect(result).not.toHaveProperty("json");
    }
  });

  test("is text, if JSON is nested so deeply that it cannot be searched for secrets", async ({ forge }) => {
    const prefix = `JOBFORGE_SECRET_${T.replaceAll("-", "").toUpperCase()}`;
    const server = await startServer((request, response) => {
      const depth = Number(request.url.slice(1));
      response.writeHead(200, { "content-type": "application/json" });
      response.end(`${"[".repeat(depth)}"${request.headers["x-key"]}"${"]".repeat(depth)}`);
    });
    const { run } = runner(forge, {
      egress: loopbackAnd({ secrets: { KEY: { hosts: ["127.0.0.1"] } } }),
      secrets: environmentSecrets({ [`${prefix}_KEY`]: "a secret value" }),
    });
    for (const depth of [100, 1000, 2000, 3000, 5000, 20_000]) {
      const headers = { "x-key": { $secret: "KEY" } };
      const { job, result } = await run(httpRequest, { url: `${server.url}/${depth}`, headers });
      expect(job.status, `${depth} ${JSON.stringify(job.error)}`).toBe("succeeded");
      expect(JSON.stringify(result)).toContain("[secret]");
      expect(JSON.stringify(result)).not.toContain("a secret value");
    }
  });

  test("is decoded if the payload asks for it, and counted after decoding", async ({ forge }) => {
    const gzip = (_: unknown, response: Parameters<Parameters<typeof startServer>[0]>[1]): void => {
      response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("hello".repeat(100)));
    };
    const decoded = await requested(forge, { response: { decode: true, max_bytes: 7 } }, gzip);
    expect(decoded.request.headers).toMatchObject({ "accept-encoding": "gzip, br" });
    expect(decoded.result).toMatchObject({ body: "hellohe", truncated: true });
    const plain = await requested(forge, { headers: { "Accept-Encoding": "gzip" } });
    expect(plain.request.headers).toMatchObject({ "accept-encoding": "identity" });
  });

  test("is an artifact, if the payload asks for it", async ({ forge }) => {
    const folder = await mkdtemp(join(tmpdir(), "jobforge-http-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const artifacts = fileStore(folder);
    const server = await startServer((_, response) => response.end("x".repeat(300_000)));
    const { run } = runner(forge, { artifacts });
    const payload = { url: server.url, response: { on_large: "artifact" } } as const;
    const { result, job } = await run(httpRequest, payload);
    const ref = `artifact:http/${T}/${job.id}/response`;
    expect(result).toMatchObject({ bytes: 300_000, truncated: false, artifact_ref: ref });
    expect(result).not.toHaveProperty("body");
    const chunks: Buffer[] = [];
    for await (const chunk of await artifacts.get(ref)) chunks.push(chunk);
    expect(Buffer.concat(chunks)).toHaveLength(300_000);
    await forge.connectors.set({ tenantId: T, type: "http.request" }, { max_bytes: 1000 });
    const limited = await runner(forge, { artifacts }).run(httpRequest, payload);
    expect([limited.job.status, limited.error.details?.["code"]]).toEqual(["failed", "too_large"]);
  });

  test("has the headers of older payloads, some of them masked", async ({ forge }) => {
    const { result } = await requested(
      forge,
      {
        response_headers_allowlist: ["X-Id", "set-cookie", "constructor", "__proto__"],
        redact_headers: ["Set-Cookie"],
      },
      (_, response) =>
        response.writeHead(200, { "x-id": "7", "set-cookie": "session=1", "x-other": "1" }).end(),
    );
    expect(result["response_headers"]).toEqual({ "x-id": "7", "set-cookie": "[redacted]" });
  });

  test("of HEAD is no body, and redirects are followed for reading only", async ({ forge }) => {
    const redirect = (request: { url: string }, response: Parameters<Parameters<typeof startServer>[0]>[1]) =>
      void (request.url === "/x"
        ? response.writeHead(302, { location: "/y" }).end()
        : response.writeHead(200, { "content-length": "5" }).end());
    const head = await requested(forge, { method: "HEAD" }, redirect);
    expect(head.result).toMatchObject({ status: 200, bytes: 0, redirects: [expect.stringMatching(/\/x$/)] });
    const post = await requested(forge, { method: "POST", body: "a" }, redirect);
    expect([post.job.status, post.error.details?.["code"]]).toEqual(["failed", "redirect_refused"]);
  });
});
