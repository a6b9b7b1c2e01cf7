/** Secrets by reference: bound to tenants and hosts, and removed from everything that is stored. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished } from "vitest";
import { environmentSecrets, fileSecrets, httpRequest, webhookDeliver } from "../../src/index.ts";
import { Scrubber } from "../../src/secrets/scrub.ts";
import { loopbackAnd, otherTenant, runner, T, test } from "../support/run.ts";
import { startServer } from "../support/servers.ts";

const value = "s3cr3t/+value&more";
const variable = `JOBFORGE_SECRET_${T.replaceAll("-", "").toUpperCase()}_API_KEY`;
const secrets = environmentSecrets({
  [variable]: value,
  JOBFORGE_SECRET_SHARED_COMMON: "shared-value",
  DATABASE_URL: "postgres://secret",
});
const bound = { hosts: ["127.0.0.1"] };
const egress = loopbackAnd({
  secrets: { API_KEY: bound, COMMON: { ...bound, shared: true }, PRIVATE: bound },
});

describe("a secret", () => {
  test("is sent in headers, query and auth, and is in no result", async ({ forge }) => {
    const server = await startServer((request, response) => {
      response.writeHead(200, { "content-type": "application/json", "x-echo": request.headers["x-key"] });
      response.end(JSON.stringify({ headers: request.headers, url: request.url }));
    });
    const { job, result } = await runner(forge, { egress, secrets }).run(httpRequest, {
      url: server.url,
      headers: { "x-key": { $secret: "API_KEY" } },
      query: { key: { $secret: "API_KEY" }, page: 2 },
      auth: { basic: { user: "me", password: { $secret: "API_KEY" } } },
      response: { headers: ["x-echo"] },
    });
    expect(job.status, JSON.stringify(job.error)).toBe("succeeded");
    const [request] = server.received;
    expect(request?.headers["x-key"]).toBe(value);
    expect(request?.headers.authorization).toBe(`Basic ${Buffer.from(`me:${value}`).toString("base64")}`);
    expect(new URL(request?.url ?? "", server.url).searchParams.get("key")).toBe(value);
    const stored = JSON.stringify(result);
    expect(stored).toContain("[secret]");
    for (const form of [value, encodeURIComponent(value), Buffer.from(`me:${value}`).toString("base64")])
      expect(stored).not.toContain(form);
  });

  test("is in no error", async ({ forge }) => {
    const server = await startServer((request, response) => {
      response.writeHead(500).end(`You sent ${request.headers["x-key"]}`);
    });
    const { error } = await runner(forge, { egress, secrets }).run(httpRequest, {
      url: server.url,
      headers: { "x-key": { $secret: "API_KEY" } },
    });
    expect(error.details).toMatchObject({ preview: "You sent [secret]" });
    expect(JSON.stringify(error)).not.toContain(value);
  });

  test("is in no part of a response that was cut off within it", async ({ forge }) => {
    const padding = "x".repeat(2000);
    const server = await startServer((request, response) => {
      const length = Number(request.url.slice(1));
      response.writeHead(length === 1020 ? 500 : 200);
      response.end(`${padding.slice(0, length)}${request.headers["x-key"]}${padding}`);
    });
    const { run } = runner(forge, { egress, secrets });
    const headers = { "x-key": { $secret: "API_KEY" } };
    const cut = { max_bytes: 10 + value.length - 1 };
    const { result } = await run(httpRequest, { url: `${server.url}/10`, headers, response: cut });
    expect(result).toMatchObject({ body: "xxxxxxxxxx[secret]", response_body_preview: "xxxxxxxxxx[secret]" });
    const shown = await run(httpRequest, { url: `${server.url}/1010`, headers });
    expect(JSON.stringify(shown.result)).not.toContain(value.slice(0, 4));
    const failed = await run(httpRequest, { url: `${server.url}/1020`, headers });
    expect(failed.error.details).toMatchObject({ status: 500 });
    expect(JSON.stringify(failed.error)).not.toContain(value.slice(0, 4));
    const webhook = await run(webhookDeliver, { url: `${server.url}/1010`, event: { type: "a" }, headers });
    expect(JSON.stringify(webhook.result)).not.toContain(value.slice(0, 4));
  });

  test("is in no JSON, however the service writes it", async ({ forge }) => {
    const forms = [
      JSON.stringify(value).replaceAll("/", "\\/"),
      `"${[...value].map((each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`).join("")}"`,
      JSON.stringify(encodeURIComponent(value).toLowerCase()),
      JSON.stringify(value.replaceAll("&", "&amp;")),
    ];
    const server = await startServer((_, response) => {
      response.writeHead(200, { "content-type": "application/json" }).end(`{"echo":[${forms.join(",")}]}`);
    });
    const { result } = await runner(forge, { egress, secrets }).run(httpRequest, {
      url: server.url,
      headers: { "x-key": { $secret: "API_KEY" } },
    });
    expect(result["json"]).toEqual({ echo: Array(4).fill("[secret]") });
  });

  test("that is missing, foreign, not listed or bound to another host gives one error, and nothing is sent", async ({
    forge,
  }) => {
    const server = await startServer((_, response) => response.end());
    const elsewhere = loopbackAnd({ secrets: { API_KEY: { hosts: ["api.example.com"] } } });
    const attempts = [
      { name: "PRIVATE", options: { egress, secrets } },
      { name: "API_KEY", options: { egress, secrets }, tenantId: otherTenant },
      { name: "DATABASE_URL", options: { egress, secrets } },
      { name: "API_KEY", options: { egress: elsewhere, secrets } },
      { name: "API_KEY", options: { egress: loopbackAnd({}), secrets } },
    ];
    const errors = new Set<string>();
    for (const { name, options, tenantId = T } of attempts) {
      const headers = { "x-key": { $secret: name } };
      const { job, error } = await runner(forge, options).run(
        httpRequest,
        { url: server.url, headers },
        { tenantId },
      );
      expect(job.status).toBe("queued");
      errors.add(JSON.stringify([error.name, error.message, error.details]));
    }
    expect([...errors]).toHaveLength(1);
    expect([...errors][0]).toContain("secret_unavailable");
    expect(server.received).toEqual([]);
  });

  test("that tenants share reaches those whose policy lists it as shared", async ({ forge }) => {
    const server = await startServer((_, response) => response.end());
    const headers = { "x-key": { $secret: "COMMON" } };
    const { run } = runner(forge, { egress, secrets });
    expect((await run(httpRequest, { url: server.url, headers }, { tenantId: otherTenant })).job.status).toBe(
      "succeeded",
    );
    expect(server.received[0]?.headers["x-key"]).toBe("shared-value");
    const unshared = loopbackAnd({ secrets: { COMMON: bound } });
    const refused = await runner(forge, { egress: unshared, secrets }).run(httpRequest, {
      url: server.url,
      headers,
    });
    expect(refused.error.details).toMatchObject({ code: "secret_unavailable" });
  });

  test("with a line break cannot add a header", async ({ forge }) => {
    const server = await startServer((_, response) => response.end());
    const broken = { get: async () => "a\r\nx-admin: 1" };
    const { error } = await runner(forge, { egress, secrets: broken }).run(httpRequest, {
      url: server.url,
      headers: { "x-key": { $secret: "API_KEY" } },
    });
    expect(error.details).toMatchObject({ code: "secret_unavailable" });
    expect(server.received).toEqual([]);
  });

  test("of OAuth 2 is bound to the target too, so that no token leaves", async ({ forge }) => {
    const tokens = await startServer((_, response) => {
      response.setHeader("content-type", "application/json");
      response.end('{"access_token":"token-12345","expires_in":3600}');
    });
    const target = await startServer((_, response) => response.end());
    const oauth2 = {
      token_url: `${tokens.url}/token`,
      client_id: "me",
      client_secret: { $secret: "API_KEY" },
    };
    const narrow = loopbackAnd({ secrets: { API_KEY: { hosts: [`127.0.0.1:${tokens.port}`] } } });
    const refused = await runner(forge, { egress: narrow, secrets }).run(httpRequest, {
      url: target.url,
      auth: { oauth2 },
    });
    expect(refused.error.details).toMatchObject({ code: "secret_unavailable" });
    expect(tokens.received).toEqual([]);
    const { run } = runner(forge, { egress, secrets });
    for (let n = 0; n < 2; n += 1) await run(httpRequest, { url: target.url, auth: { oauth2 } });
    expect(target.received.map(({ headers }) => headers.authorization)).toEqual([
      "Bearer token-12345",
      "Bearer token-12345",
    ]);
    expect(tokens.received).toHaveLength(1);
  });
});

test("a token that was revoked before its end is replaced, and one that never worked is not", async ({
  forge,
}) => {
  let issued = 0;
  const tokens = await startServer((_, response) => {
    issued += 1;
    response.end(`{"access_token":"token-${issued}","expires_in":3600}`);
  });
  let valid = "Bearer token-1";
  const target = await startServer((request, response) => {
    response.writeHead(request.headers.authorization === valid ? 200 : 401).end();
  });
  const { run } = runner(forge, { egress, secrets });
  const oauth2 = { token_url: tokens.url, client_id: "me", client_secret: { $secret: "API_KEY" } };
  const statusOf = async (): Promise<string> =>
    (await run(httpRequest, { url: target.url, auth: { oauth2 } })).job.status;
  expect(await statusOf()).toBe("succeeded");
  valid = "Bearer token-2";
  expect([await statusOf(), await statusOf()]).toEqual(["queued", "succeeded"]);
  valid = "none";
  // The first of them has a token that worked before, the second one a new token.
  expect([await statusOf(), await statusOf()]).toEqual(["queued", "failed"]);
  expect(issued).toBe(3);
});

test("a file of secrets is read again when it changes", async () => {
  const folder = await mkdtemp(join(tmpdir(), "jobforge-secrets-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, "secrets.json");
  const { signal } = new AbortController();
  await writeFile(path, JSON.stringify({ [T]: { A: "first" } }));
  const provider = fileSecrets(path);
  expect(await provider.get(T, "A", signal)).toBe("first");
  expect(await provider.get(otherTenant, "A", signal)).toBeUndefined();
  expect(await provider.get(T, "constructor", signal)).toBeUndefined();
  await writeFile(path, JSON.stringify({ [T]: { A: "the second" } }));
  expect(await provider.get(T, "A", signal)).toBe("the second");
});

test("a secret is removed from a stream, also where two chunks meet", async () => {
  const scrubber = new Scrubber();
  scrubber.add("geheim");
  const chunks = async function* (): AsyncGenerator<Buffer> {
    for (const text of ["a ge", "he", "im b geheim", " ü c geh"]) yield Buffer.from(text);
  };
  const out: Buffer[] = [];
  for await (const chunk of scrubber.stream(chunks())) out.push(chunk);
  expect(Buffer.concat(out).toString("utf8")).toBe("a [secret] b [secret] ü c geh");
});
