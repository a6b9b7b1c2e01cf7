/** Attacks: each one is refused, and the server keeps working. */
import { request, Server } from "node:http";
import { connect } from "node:net";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import pg from "pg";
import { describe, expect, vi } from "vitest";
import { serveJson } from "../../../test/serve-json.ts";
import { open } from "../src/listen.ts";
import { type Events, openEvents } from "./support/events.ts";
import { appToken, secret, sign, startServer, T, test } from "./support/server.ts";

const deep = (depth: number): string => `${"[".repeat(depth)}${"]".repeat(depth)}`;

describe("JSON with a hundred thousand levels", () => {
  test.for([
    ["/v1/jobs", (json: string) => `{"type":"a","payload":${json}}`],
    ["/v1/bulk/enqueue", (json: string) => `{"jobs":[{"type":"a","payload":${json}}]}`],
    [
      "/rest/v1/rpc/jobforge_enqueue_job",
      (json: string) => `{"p_tenant_id":"${T}","p_type":"a","p_payload":${json}}`,
    ],
  ] as const)("is refused by %s", async ([path, bodyOf], { http }) => {
    const token = await appToken(T);
    const response = await http.request(path, { token, body: bodyOf(deep(100_000)) });
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining("nested")]);
    expect((await http.request("/v1/jobs", { token, body: { type: "a" } })).status).toBe(201);
  });
});

test("filters with too many levels, or named like an inherited property of objects, are refused", async ({
  http,
}) => {
  const token = await appToken(T);
  const nested = (depth: number): string => `${"and(".repeat(depth)}type.eq.a${")".repeat(depth)}`;
  const status = async (query: string): Promise<number> =>
    (await http.request(`/rest/v1/jobforge_jobs?${query}`, { token })).status;
  expect(await status(`or=(${nested(19)})`)).toBe(200);
  expect(await status(`or=(${nested(20)})`)).toBe(400);
  expect(await status(`or=(${nested(3000)})`)).toBe(400);
  const refused = await http.request("/rest/v1/jobforge_jobs?type=constructor.a", { token });
  expect([refused.status, await refused.json()]).toMatchObject([400, { code: "PGRST100" }]);
  expect(await status("type=is.constructor")).toBe(400);
});

test("a query that cannot be turned into a statement is the caller's error", async ({ http }) => {
  const token = await appToken(T);
  const queries = [
    "select=a%00b:type",
    "select=payload->>a%00b",
    "order=payload->a%00b",
    "payload->>a%00=eq.1",
    "or=(payload->>a%00.eq.1)",
    "type=eq.a%00b",
    "or=()",
    "not.and=()",
    "or=(and(),type.eq.a)",
    `select=${Array.from({ length: 1700 }, () => "id").join()}`,
  ];
  const results: [string, number, boolean][] = [];
  for (const query of queries) {
    const response = await http.request(`/rest/v1/jobforge_jobs?${query}`, { token });
    results.push([query.slice(0, 30), response.status, (await response.text()).includes("syntax error")]);
  }
  expect(results).toEqual(queries.map((query) => [query.slice(0, 30), 400, false]));
});

test("a body without a declared length is refused when it becomes too large", async ({ db }) => {
  await using http = await startServer(db, { maxBodyBytes: 10_000 });
  const token = await appToken(T);
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const sent = request(`${http.url}/v1/jobs`, { method: "POST", headers }, ({ statusCode }) =>
      resolve(statusCode),
    );
    sent.on("error", reject);
    sent.write('{"type":"a","payload":"');
    for (let part = 0; part < 20; part += 1) sent.write("x".repeat(1000));
    sent.end('"}');
  });
  expect(status).toBe(413);
});

test("a client that never finishes its headers or its body is disconnected", {
  timeout: 30_000,
}, async () => {
  const timeouts = { headersMs: 100, requestMs: 200, checkMs: 50 };
  const listener = await open(() => new Response("ok"), 0, "127.0.0.1", timeouts);
  const { port } = new URL(listener.url);
  const replyTo = (text: string): Promise<string> =>
    new Promise((resolve, reject) => {
      let reply = "";
      const socket = connect(Number(port), "127.0.0.1", () => socket.write(text));
      socket.on("data", (chunk: Buffer) => {
        reply += chunk.toString();
      });
      socket.on("error", reject).on("close", () => resolve(reply));
    });
  expect(await replyTo("GET / HTTP/1.1\r\nhost: x\r\nx-slow: ")).toContain("408");
  expect(await replyTo("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nabc")).toMatch(/408|200/);
  await listener.close();
});

describe("the process survives", () => {
  test("a reply of the database that is longer than a string can be", async ({ http }) => {
    const token = await appToken(T);
    expect((await http.request("/v1/jobs", { token })).status).toBe(200);
    const tooLong = (): never => {
      const message = "Cannot create a string longer than 0x1fffffe8 characters";
      throw Object.assign(new Error(message), { code: "ERR_STRING_TOO_LONG" });
    };
    // The driver calls this method in the listener in which it also reads texts.
    const { prototype } = pg.Query as unknown as { prototype: { handleDataRow: () => void } };
    const reading = vi.spyOn(prototype, "handleDataRow").mockImplementation(tooLong);
    const response = await http.request("/v1/jobs", { token });
    reading.mockRestore();
    expect([response.status, await response.json()]).toMatchObject([400, { name: "response_too_large" }]);
    expect((await http.request("/v1/jobs", { token })).status).toBe(200);
  });

  test("a connection that the system cannot accept", async () => {
    const listening = vi.spyOn(Server.prototype, "listen");
    const listener = await open(() => new Response("ok"), 0, "127.0.0.1");
    const [server] = listening.mock.contexts as Server[];
    listening.mockRestore();
    server?.emit("error", new Error("accept ENOMEM"));
    expect(await (await fetch(listener.url)).text()).toBe("ok");
    await listener.close();
  });
});

test("line breaks in values do not become headers of the response", async ({ http }) => {
  const token = await appToken(T);
  const key = "k\u0085\u2028x: y";
  const response = await http.request("/v1/jobs", {
    token,
    body: { type: "a", idempotency_key: key, subject: "\r\nx-evil: 1\r\nset-cookie: a=b" },
  });
  expect(response.status).toBe(201);
  expect([...response.headers.keys()]).not.toEqual(expect.arrayContaining(["x-evil"]));
  expect(response.headers.get("set-cookie")).toBeNull();
  expect(response.headers.get("location")).toMatch(/^\/v1\/jobs\/[0-9a-f-]{36}$/);
});

test("no path serves a file", async ({ http }) => {
  const token = await sign({ role: "jobforge_operator" });
  for (const path of [
    "/../package.json",
    "/%2e%2e/package.json",
    "/..%2fpackage.json",
    "/v1/%2e%2e/%2e%2e/etc/passwd",
    "//etc/passwd",
  ]) {
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const { hostname, port } = new URL(http.url);
      const headers = { authorization: `Bearer ${token}` };
      request({ hostname, port, path, headers }, ({ statusCode }) => resolve(statusCode))
        .on("error", reject)
        .end();
    });
    expect([path, status]).toEqual([path, 404]);
  }
});

describe("a token", () => {
  const call = { path: "/rest/v1/rpc/jobforge_list_jobs", body: { p_tenant_id: T } };
  const signed = (claims: Record<string, unknown>, header: object = {}): Promise<string> =>
    new SignJWT({ role: "jobforge_app", tenant_id: T, ...claims })
      .setProtectedHeader({ alg: "HS256", ...header })
      .sign(new TextEncoder().encode(secret));
  const soon = Math.floor(Date.now() / 1000) + 3600;

  test("for another audience, from another issuer or not valid yet is refused", async ({ db }) => {
    await using http = await startServer(db, { jwtAudience: "jobforge", jwtIssuer: "us" });
    const ask = async (claims: Record<string, unknown>): Promise<Response> =>
      await http.request(call.path, { token: await signed({ exp: soon, ...claims }), body: call.body });
    const status = async (claims: Record<string, unknown>): Promise<number> => (await ask(claims)).status;
    expect(await status({ aud: "jobforge", iss: "us" })).toBe(200);
    expect(await status({ aud: ["other", "jobforge"], iss: "us" })).toBe(200);
    for (const [claims, message] of [
      [{ iss: "us" }, "another audience"],
      [{ aud: "other", iss: "us" }, "another audience"],
      [{ aud: "jobforge", iss: "them" }, "another issuer"],
      [{ aud: "jobforge" }, "another issuer"],
      [{ aud: "jobforge", iss: "us", nbf: soon }, "not yet valid"],
      [{ aud: "jobforge", iss: "us", exp: 1 }, "expired"],
    ] as const) {
      const response = await ask(claims);
      const text = await response.text();
      expect([claims, response.status, text]).toEqual([claims, 401, expect.stringContaining(message)]);
      // The response does not contain the expected values.
      expect(text).not.toMatch(/"us"|jobforge"/);
      expect(response.headers.get("www-authenticate")).toBe('Bearer error="invalid_token"');
    }
    const forged = await sign({ role: "jobforge_app", nbf: soon }, "another secret that is long enough too");
    const refused = await http.request(call.path, { token: forged, body: call.body });
    expect([refused.status, await refused.json()]).toMatchObject([
      401,
      { message: "The token is malformed or its signature is wrong" },
    ]);
  });

  test("whose key id is a path, or that contains its own key, is refused", async ({ db }) => {
    const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
    const jwk = await exportJWK(publicKey);
    await using keys = await serveJson({ keys: [{ ...jwk, kid: "k1", alg: "ES256" }] });
    await using evil = await serveJson({ keys: [] });
    await using http = await startServer(db, { jwtSecret: undefined, jwksUrl: keys.url });
    const own = await generateKeyPair("ES256", { extractable: true });
    const make = (header: object, key: typeof privateKey): Promise<string> =>
      new SignJWT({ role: "jobforge_operator" })
        .setProtectedHeader({ alg: "ES256", ...header })
        .setExpirationTime("1h")
        .sign(key);
    const status = async (token: string): Promise<number> =>
      (await http.request("/v1/gates", { token })).status;
    expect(await status(await make({ kid: "k1" }, privateKey))).toBe(200);
    const mine = await exportJWK(own.publicKey);
    for (const header of [
      { kid: "../../../../dev/null" },
      { kid: "k1" },
      { kid: "k1", jwk: mine },
      { kid: "k1", jku: evil.url },
      { kid: "k1' or '1'='1" },
    ])
      expect([header, await status(await make(header, own.privateKey))]).toEqual([header, 401]);
  });
});

test("the live streams of one caller are limited, and one that ends makes room for another", async ({
  db,
}) => {
  await using http = await startServer(db, { maxStreams: 2 });
  const [mine, theirs] = [await appToken(T), await sign({ role: "jobforge_operator" })];
  const follow = (token: string, topic: string): Promise<Events> =>
    openEvents(`${http.url}/v1/stream?subject=${topic}`, token);
  const streams = [await follow(mine, "a"), await follow(mine, "b")];
  const refused = await http.request("/v1/stream?subject=c", { token: mine });
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "10"]);
  await using other = await follow(theirs, "a");
  expect(other.status).toBe(200);
  await streams[0]?.[Symbol.asyncDispose]();
  await expect
    .poll(async () => {
      await using again = await follow(mine, "c");
      return again.status;
    })
    .toBe(200);
  await streams[1]?.[Symbol.asyncDispose]();
});

test("a HEAD request for the stream gets a response and leaves no stream behind", async ({ db }) => {
  await using http = await startServer(db, { maxStreams: 2 });
  const [mine, reader] = [await appToken(T), await sign({ role: "jobforge_reader" })];
  const head = (token?: string): Promise<Response> => http.request("/v1/stream", { method: "HEAD", token });
  for (let count = 0; count < 3; count += 1) {
    const response = await head(mine);
    expect([response.status, response.headers.get("content-type")]).toEqual([
      200,
      "text/event-stream; charset=utf-8",
    ]);
  }
  // A reader follows counts only.
  expect([(await head()).status, (await head(reader)).status]).toEqual([401, 200]);
  const metrics = await (await http.request("/metrics", { token: reader })).text();
  expect(metrics).toContain("\njobforge_streams 0\n");
  await using events = await openEvents(`${http.url}/v1/stream`, mine);
  expect(events.status).toBe(200);
});

test("a request for thousands of topics is refused", async ({ http }) => {
  const topics = Array.from({ length: 1000 }, (_, index) => `type=t${index}`).join("&");
  expect((await http.request(`/v1/stream?${topics}`, { token: await appToken(T) })).status).toBe(400);
});
