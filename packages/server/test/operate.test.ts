/** What keeps a server running: health, ticks, logs, limits, headers, and its end. */
import { Writable } from "node:stream";
import { defineJob, JobForge } from "@jobforge/sdk-ts";
import { createTickHandler } from "@jobforge/worker-ts";
import { pino } from "pino";
import { describe, expect, test as plain } from "vitest";
import { createLogger } from "../src/log.ts";
import { readOptions, type Settings } from "../src/options.ts";
import { RateLimiter } from "../src/rate-limit.ts";
import { appToken, type RequestOptions, sign, startServer, T, test } from "./support/server.ts";

describe("health", () => {
  test("is for everybody, and says whether the server can work", async ({ http, db }) => {
    for (const path of ["/healthz", "/readyz"]) {
      const answer = await http.request(path);
      expect([answer.status, await answer.json()]).toEqual([200, { ok: true }]);
    }
    await using poor = await startServer(db, { database: (await db.createLogin("jobforge_app")).url });
    const unready = await poor.request("/readyz");
    expect([unready.status, await unready.json()]).toMatchObject([
      503,
      { reason: expect.stringContaining("not a member of jobforge_worker") },
    ]);
    await db.query("alter schema jobforge rename to elsewhere");
    expect([(await http.request("/healthz")).status, (await http.request("/readyz")).status]).toEqual([
      200, 503,
    ]);
  });
});

test("a tick runs what is due, for who knows its secret", async ({ db }) => {
  await using forge = new JobForge({ database: db.url });
  const done: string[] = [];
  const handlers = [defineJob({ type: "a" }).handle(async (_, job) => void done.push(job.id))];
  const logger = pino({ level: "silent" });
  const tick = createTickHandler({ forge, handlers, secret: "tick secret", limit: 1, logger });
  await using http = await startServer(db, { tick });
  await db.query("select jobforge_enqueue_job($1, 'a'), jobforge_enqueue_job($1, 'a')", [T]);
  const post = (token: string): Promise<Response> =>
    http.request("/api/jobs/tick", { method: "POST", token });
  expect((await post("wrong")).status).toBe(401);
  const answer = await http.request("/api/jobs/tick", {
    method: "POST",
    headers: { "x-jobforge-secret": "tick secret" },
  });
  expect([answer.status, await answer.json(), done.length]).toEqual([200, { ok: true }, 1]);
  await using without = await startServer(db);
  expect((await without.request("/api/jobs/tick", { method: "POST" })).status).toBe(404);
});

test("the access log has a line for each request, with its trace and without secrets", async ({ db }) => {
  const lines: Record<string, unknown>[] = [];
  const sink = new Writable({
    write: (chunk, _, done) => {
      lines.push(JSON.parse(String(chunk)) as Record<string, unknown>);
      done();
    },
  });
  await using http = await startServer(db, { logger: pino({}, sink) });
  const token = await appToken(T);
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  await http.request("/v1/jobs?subject=hidden", { token, headers: { traceparent } });
  await http.request("/v1/jobs/17/attempts", { token });
  await http.request("/rest/v1/rpc/jobforge_list_gates", { token, body: {} });
  expect(lines).toMatchObject([
    {
      method: "GET",
      route: "/v1/jobs",
      status: 200,
      role: "jobforge_app",
      tenant_id: T,
      trace_id: traceparent.slice(3, 35),
    },
    { method: "GET", route: "/v1/jobs/:id/attempts", status: 400, role: null },
    { method: "POST", route: "/rest/v1/rpc/:name", status: 403, role: "jobforge_app" },
  ]);
  const text = JSON.stringify(lines);
  for (const secret of [token, "hidden"]) expect(text).not.toContain(secret);
});

describe("limits", () => {
  test("requests per token, and says when to come back", async ({ db }) => {
    await using http = await startServer(db, { rateLimit: { perSecond: 0.001, burst: 2 } });
    const [first, second] = [await appToken(T), await sign({ role: "jobforge_operator" })];
    const statuses: number[] = [];
    for (let count = 0; count < 3; count += 1)
      statuses.push((await http.request("/v1/jobs", { token: first })).status);
    expect(statuses).toEqual([200, 200, 429]);
    const refused = await http.request("/v1/jobs", { token: first });
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await refused.json()).toMatchObject({ name: "too_many_requests" });
    expect((await http.request("/v1/jobs", { token: second })).status).toBe(200);
  });

  test("requests that are malformed or show no token as well", async ({ db }) => {
    await using http = await startServer(db, { rateLimit: { perSecond: 0.001, burst: 2 } });
    const token = await appToken(T);
    const statuses = async (options: RequestOptions): Promise<number[]> => {
      const seen: number[] = [];
      for (const path of ["/v1/jobs?bogus=1", "/rest/v1/jobforge_jobs?bogus=1", "/v1/jobs?bogus=1"])
        seen.push((await http.request(path, options)).status);
      return seen;
    };
    expect(await statuses({ token })).toEqual([400, 400, 429]);
    expect(await statuses({})).toEqual([401, 401, 429]);
    expect(await statuses({ headers: { authorization: "Basic YTpi" } })).toEqual([429, 429, 429]);
  });

  test("keys that nobody has seen, by address, and no others", async ({ db }) => {
    await using http = await startServer(db, { unknownKeys: { perSecond: 0.001, burst: 3 } });
    const { token } = await db.value<{ token: string }>(
      "select jobforge_create_token('k', 'jobforge_app', $1)",
      [T],
    );
    const status = async (given: string): Promise<number> =>
      (await http.request("/v1/jobs", { token: given })).status;
    expect(await status(token)).toBe(200);
    const guesses: number[] = [];
    for (const digit of [1, 2, 3]) guesses.push(await status(`jf_00000000_${String(digit).repeat(64)}`));
    expect(guesses).toEqual([401, 401, 429]);
    expect([await status(token), await status(await appToken(T)), await status("no.jwt.this")]).toEqual([
      200, 200, 401,
    ]);
  });

  test("the size of a request", async ({ db }) => {
    await using http = await startServer(db, { maxBodyBytes: 1000 });
    const token = await appToken(T);
    const body = { type: "a", payload: "x".repeat(2000) };
    expect((await http.request("/v1/jobs", { token, body })).status).toBe(413);
    const large = await http.request("/rest/v1/rpc/jobforge_enqueue_job", {
      token,
      body: { p_payload: body.payload },
    });
    expect([large.status, await large.json()]).toMatchObject([413, { code: "PGRST413" }]);
  });

  test("how long the database may take", async ({ db }) => {
    await using http = await startServer(db, { timeoutMs: 300 });
    await using other = await db.connect();
    await other.query("begin");
    await other.query("lock table jobforge.jobs in access exclusive mode");
    const answer = await http.request("/v1/jobs", { token: await appToken(T), body: { type: "a" } });
    expect([answer.status, await answer.json()]).toMatchObject([504, { code: "57014", name: "timeout" }]);
    await other.query("rollback");
    expect((await http.request("/v1/jobs", { token: await appToken(T), body: { type: "a" } })).status).toBe(
      201,
    );
  });

  plain("fill up as time goes by", () => {
    let now = 0;
    const limiter = new RateLimiter({ perSecond: 2, burst: 1 }, () => now);
    limiter.take("a");
    expect(() => limiter.take("a")).toThrow("Too many requests");
    now = 500;
    limiter.take("a");
    expect(() => limiter.take("a")).toThrow("Too many requests");
    for (let other = 0; other < 30_000; other += 1) limiter.take(`caller ${other}`);
  });
});

describe("headers", () => {
  test("are those of an API that no page frames, sniffs or stores", async ({ http }) => {
    const { headers } = await http.request("/v1/jobs", { token: await appToken(T) });
    expect(Object.fromEntries(headers)).toMatchObject({
      "x-content-type-options": "nosniff",
      "x-frame-options": "SAMEORIGIN",
      "strict-transport-security": expect.stringContaining("max-age"),
      "cache-control": "no-store",
    });
  });

  test("let no page of another origin call, unless it is listed", async ({ http, db }) => {
    const preflight = {
      method: "OPTIONS",
      headers: { origin: "https://app.example", "access-control-request-method": "GET" },
    };
    const closed = await http.request("/v1/jobs", preflight);
    expect(closed.headers.get("access-control-allow-origin")).toBeNull();
    await using open = await startServer(db, { corsOrigins: ["https://app.example"] });
    const allowed = await open.request("/v1/jobs", preflight);
    expect(allowed.headers.get("access-control-allow-origin")).toBe("https://app.example");
    const answer = await open.request("/v1/jobs", { headers: { origin: "https://app.example" } });
    expect(answer.headers.get("access-control-expose-headers")).toBe(
      "allow,content-range,location,retry-after,www-authenticate",
    );
    const other = await open.request("/v1/jobs", {
      ...preflight,
      headers: { ...preflight.headers, origin: "https://evil.example" },
    });
    expect(other.headers.get("access-control-allow-origin")).toBeNull();
  });
});

plain("an origin that no browser sends is refused", () => {
  const open = (origin: string): Settings => readOptions({ database: "postgres://x", corsOrigins: [origin] });
  for (const origin of [
    "https://x.example/path",
    "https://x.example/",
    "https://X.example",
    "https://x.example:443",
    "https://me@x.example",
    "x.example",
    "*",
    "",
  ])
    expect(() => open(origin), origin).toThrow("corsOrigins");
  for (const origin of ["https://x.example", "http://localhost:3000", "http://[::1]:8080", "app://localhost"])
    expect(open(origin).corsOrigins).toEqual([origin]);
});

plain("a level of the log that there is not is refused with those that there are", () => {
  expect(() => createLogger({ level: "bogus" })).toThrow("trace, debug, info, warn, error, fatal, silent");
  for (const level of ["silent", "debug"]) expect(createLogger({ level }).level).toBe(level);
});

describe("the end of a server", () => {
  test("lets requests under way end, and leaves no connection", async ({ db }) => {
    const http = await startServer(db);
    const token = await appToken(T);
    await using other = await db.connect();
    await other.query("begin");
    await other.query("lock table jobforge.jobs in access exclusive mode");
    const slow = http.request("/v1/jobs", { token, body: { type: "a" } });
    await expect.poll(async () => await waiting(db)).toBe(1);
    const closed = http.server.close();
    await other.query("rollback");
    expect((await slow).status).toBe(201);
    await closed;
    // Postgres ends a session a moment after its client has left.
    await expect.poll(async () => await sessions(db)).toBe(0);
    await expect(http.request("/healthz")).rejects.toThrow();
    await http.server.close();
  });
});

async function waiting(db: { value(sql: string): Promise<unknown> }): Promise<unknown> {
  return await db.value(
    "select count(*)::int from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
  );
}

async function sessions(db: { value(sql: string): Promise<unknown> }): Promise<unknown> {
  return await db.value(
    "select count(*)::int from pg_stat_activity where application_name = 'jobforge-server' and datname = current_database()",
  );
}
