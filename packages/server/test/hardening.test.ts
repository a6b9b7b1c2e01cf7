/** What an attacker would try: every one of these is refused, and the server works on. */
import { request } from "node:http";
import { connect } from "node:net";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { describe, expect } from "vitest";
import { open } from "../src/listen.ts";
import { type Events, openEvents } from "./support/events.ts";
import { appToken, secret, serveJson, sign, startServer, T, test } from "./support/server.ts";

const deep = (depth: number): string => `${"[".repeat(depth)}${"]".repeat(depth)}`;

describe("JSON that is nested a hundred thousand deep", () => {
  test.for([
    ["/v1/jobs", (json: string) => `{"type":"a","payload":${json}}`],
    ["/v1/bulk/enqueue", (json: string) => `{"jobs":[{"type":"a","payload":${json}}]}`],
    [
      "/rest/v1/rpc/jobforge_enqueue_job",
      (json: string) => `{"p_tenant_id":"${T}","p_type":"a","p_payload":${json}}`,
    ],
  ] as const)("is refused by %s", async ([path, bodyOf], { http }) => {
    const token = await appToken(T);
    const answer = await http.request(path, { token, body: bodyOf(deep(100_000)) });
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining("nested")]);
    expect((await http.request("/v1/jobs", { token, body: { type: "a" } })).status).toBe(201);
  });
});

test("filters that are nested as deep as a request can hold, or named after what objects inherit, are refused", async ({
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

test("a query that no statement can be made of is the caller's mistake", async ({ http }) => {
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
  const answers: [string, number, boolean][] = [];
  for (const query of queries) {
    const answer = await http.request(`/rest/v1/jobforge_jobs?${query}`, { token });
    answers.push([query.slice(0, 30), answer.status, (await answer.text()).includes("syntax error")]);
  }
  expect(answers).toEqual(queries.map((query) => [query.slice(0, 30), 400, false]));
});

test("a body without a length is cut off where it is too large", async ({ db }) => {
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

test("a client that never ends its headers or its body is let go", { timeout: 30_000 }, async () => {
  const patience = { headersMs: 100, requestMs: 200, checkMs: 50 };
  const listener = await open(() => new Response("ok"), 0, "127.0.0.1", patience);
  const { port } = new URL(listener.url);
  const answerTo = (text: string): Promise<string> =>
    new Promise((resolve, reject) => {
      let answer = "";
      const socket = connect(Number(port), "127.0.0.1", () => socket.write(text));
      socket.on("data", (chunk: Buffer) => {
        answer += chunk.toString();
      });
      socket.on("error", reject).on("close", () => resolve(answer));
    });
  expect(await answerTo("GET / HTTP/1.1\r\nhost: x\r\nx-slow: ")).toContain("408");
  expect(await answerTo("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nabc")).toMatch(/408|200/);
  await listener.close();
});

test("headers with line breaks reach nobody", async ({ http }) => {
  const token = await appToken(T);
  const key = "k\u0085\u2028x: y";
  const answer = await http.request("/v1/jobs", {
    token,
    body: { type: "a", idempotency_key: key, subject: "\r\nx-evil: 1\r\nset-cookie: a=b" },
  });
  expect(answer.status).toBe(201);
  expect([...answer.headers.keys()]).not.toEqual(expect.arrayContaining(["x-evil"]));
  expect(answer.headers.get("set-cookie")).toBeNull();
  expect(answer.headers.get("location")).toMatch(/^\/v1\/jobs\/[0-9a-f-]{36}$/);
});

test("no path leads to a file", async ({ http }) => {
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
  const ask = { path: "/rest/v1/rpc/jobforge_list_jobs", body: { p_tenant_id: T } };
  const signed = (claims: Record<string, unknown>, header: object = {}): Promise<string> =>
    new SignJWT({ role: "jobforge_app", tenant_id: T, ...claims })
      .setProtectedHeader({ alg: "HS256", ...header })
      .sign(new TextEncoder().encode(secret));
  const soon = Math.floor(Date.now() / 1000) + 3600;

  test("for another audience, of another issuer, or from the future is refused", async ({ db }) => {
    await using http = await startServer(db, { jwtAudience: "jobforge", jwtIssuer: "us" });
    const status = async (claims: Record<string, unknown>): Promise<number> =>
      (await http.request(ask.path, { token: await signed({ exp: soon, ...claims }), body: ask.body }))
        .status;
    expect(await status({ aud: "jobforge", iss: "us" })).toBe(200);
    expect(await status({ aud: ["other", "jobforge"], iss: "us" })).toBe(200);
    for (const claims of [
      { iss: "us" },
      { aud: "other", iss: "us" },
      { aud: "jobforge", iss: "them" },
      { aud: "jobforge" },
      { aud: "jobforge", iss: "us", nbf: soon },
    ])
      expect([claims, await status(claims)]).toEqual([claims, 401]);
  });

  test("whose key id is a path, or who brings its own key, is refused", async ({ db }) => {
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

test("one token has so many live streams and no more; those that end make room", async ({ db }) => {
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

test("a HEAD of the stream is answered and leaves no stream behind", async ({ db }) => {
  await using http = await startServer(db, { maxStreams: 2 });
  const [mine, reader] = [await appToken(T), await sign({ role: "jobforge_reader" })];
  const head = (token?: string): Promise<Response> => http.request("/v1/stream", { method: "HEAD", token });
  for (let count = 0; count < 3; count += 1) {
    const answer = await head(mine);
    expect([answer.status, answer.headers.get("content-type")]).toEqual([
      200,
      "text/event-stream; charset=utf-8",
    ]);
  }
  expect([(await head()).status, (await head(reader)).status]).toEqual([401, 403]);
  const metrics = await (await http.request("/metrics", { token: reader })).text();
  expect(metrics).toContain("\njobforge_streams 0\n");
  await using events = await openEvents(`${http.url}/v1/stream`, mine);
  expect(events.status).toBe(200);
});

test("thousands of topics in one request are refused", async ({ http }) => {
  const topics = Array.from({ length: 1000 }, (_, index) => `type=t${index}`).join("&");
  expect((await http.request(`/v1/stream?${topics}`, { token: await appToken(T) })).status).toBe(400);
});
