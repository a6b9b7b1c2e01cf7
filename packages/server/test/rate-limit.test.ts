/** Limits on the number of requests: by caller with a valid token, by address without one. */
import { request as httpRequest } from "node:http";
import { describe, expect, test as plain } from "vitest";
import { clientAddress, type TrustProxy } from "../src/address.ts";
import { RateLimiter } from "../src/rate-limit.ts";
import {
  appToken,
  type Claims,
  type RequestOptions,
  type Running,
  sign,
  startServer,
  T,
  test,
  U,
} from "./support/server.ts";

/** A limit that does not refill during a test. */
const only = (burst: number): { perSecond: number; burst: number } => ({ perSecond: 0.001, burst });

const statusOf = async (http: Running, token: string | undefined, path = "/v1/jobs"): Promise<number> =>
  (await http.request(path, { token })).status;

async function statusesOf(http: Running, tokens: readonly string[]): Promise<number[]> {
  const statuses: number[] = [];
  for (const token of tokens) statuses.push(await statusOf(http, token));
  return statuses;
}

describe("a valid token", () => {
  test("counts for the same caller, however its role is called and a missing subject is written", async ({
    db,
  }) => {
    await using http = await startServer(db, { rateLimit: only(4) });
    const tokens: string[] = [];
    for (const role of ["authenticated", "jobforge_app"])
      for (const subject of [{}, { sub: "" }]) tokens.push(await sign({ role, tenant_id: T, ...subject }));
    expect(await statusesOf(http, [...tokens, ...tokens])).toEqual([200, 200, 200, 200, 429, 429, 429, 429]);
    expect(await statusOf(http, await sign({ role: "jobforge_app", tenant_id: T, sub: "a" }))).toBe(200);
  });

  test("counts for its caller, and a refusal says when to try again", async ({ db }) => {
    await using http = await startServer(db, { rateLimit: only(2) });
    const [first, second] = [await appToken(T), await sign({ role: "jobforge_operator" })];
    expect(await statusesOf(http, [first, first, first])).toEqual([200, 200, 429]);
    const refused = await http.request("/v1/jobs", { token: first });
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await refused.json()).toMatchObject({ name: "too_many_requests" });
    expect(await statusOf(http, second)).toBe(200);
    const malformed = { token: await appToken(U) };
    for (const [path, status] of [
      ["/v1/jobs?bogus=1", 400],
      ["/rest/v1/jobforge_jobs?bogus=1", 400],
      ["/v1/jobs?bogus=1", 429],
    ] as const)
      expect((await http.request(path, malformed)).status).toBe(status);
  });

  test("counts together with all other tokens of the same issuer, role, tenant and subject", async ({
    db,
  }) => {
    await using http = await startServer(db, { rateLimit: only(3) });
    const tenant = "abcdefab-cdef-4abc-8def-abcdefabcdef";
    const claims: Claims = { role: "jobforge_app", tenant_id: tenant, sub: "ada" };
    const same = [
      claims,
      { ...claims, jti: "1" },
      { ...claims, tenant_id: tenant.toUpperCase() },
      { ...claims, aud: "x" },
    ];
    const tokens = await Promise.all(same.map((each) => sign(each)));
    expect(await statusesOf(http, tokens)).toEqual([200, 200, 200, 429]);
    const others = [
      { ...claims, sub: "bob" },
      { ...claims, tenant_id: U },
      { ...claims, iss: "elsewhere" },
    ];
    expect(await statusesOf(http, await Promise.all(others.map((each) => sign(each))))).toEqual([
      200, 200, 200,
    ]);
  });

  test("is accepted in one spelling only", async ({ db }) => {
    await using http = await startServer(db);
    const token = await appToken(T);
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const last = alphabet.indexOf(token.at(-1) ?? "");
    // 32 bytes leave two bits of the last character unused.
    const spellings = [1, 2, 3].map((bits) => `${token.slice(0, -1)}${alphabet[last + bits]}`);
    const [header = "", payload = "", signature = ""] = token.split(".");
    spellings.push(`${token}=`, `${token}==`, `${token}.`, `${header}=.${payload}.${signature}`);
    expect(await statusOf(http, token)).toBe(200);
    for (const spelling of spellings)
      expect([spelling, await statusOf(http, spelling)]).toEqual([spelling, 401]);
  });

  test("has its limit of live streams together with the other tokens of its caller", async ({ db }) => {
    await using http = await startServer(db, { maxStreams: 1 });
    const tokens = await Promise.all(
      ["1", "2"].map((jti) => sign({ role: "jobforge_app", tenant_id: T, sub: "ada", jti })),
    );
    const leaving = new AbortController();
    const headers = { authorization: `Bearer ${tokens[0]}` };
    const stream = await fetch(`${http.url}/v1/stream`, { headers, signal: leaving.signal });
    expect(stream.status).toBe(200);
    expect(await statusOf(http, tokens[1], "/v1/stream")).toBe(429);
    leaving.abort();
  });
});

describe("without a valid token", () => {
  const junk = (index: number): Promise<string> =>
    sign({ role: "jobforge_app", jti: String(index) }, "another secret that is long enough too");

  test("requests count by address, and valid tokens do not", async ({ db }) => {
    await using http = await startServer(db, { addressLimit: only(2) });
    const statuses = async (options: RequestOptions): Promise<number[]> => {
      const seen: number[] = [];
      for (const path of [
        "/v1/jobs?bogus=1",
        "/rest/v1/jobforge_jobs?bogus=1",
        "/v1/openapi.json",
        "/nothing",
      ])
        seen.push((await http.request(path, options)).status);
      return seen;
    };
    expect(await statuses({})).toEqual([401, 401, 429, 429]);
    expect(await statuses({ headers: { authorization: "Basic YTpi" } })).toEqual([429, 429, 429, 429]);
    const refused = await http.request("/v1/jobs");
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await statusOf(http, await appToken(T))).toBe(200);
    for (const path of ["/healthz", "/readyz", "/favicon.ico"])
      expect((await http.request(path)).ok).toBe(true);
  });

  test("different invalid JWTs count by address, and accepted tokens still work", async ({ db }) => {
    await using http = await startServer(db, { addressLimit: only(3) });
    const [known, fresh] = [await appToken(T), await appToken(U)];
    const { token: key } = await db.value<{ token: string }>(
      "select jobforge_create_token('k', 'jobforge_app', $1)",
      [T],
    );
    expect(await statusesOf(http, [known, key])).toEqual([200, 200]);
    const tokens = await Promise.all([1, 2, 3, 4, 5].map(junk));
    expect(await statusesOf(http, tokens)).toEqual([401, 401, 401, 429, 429]);
    expect(await statusesOf(http, [known, key, fresh])).toEqual([200, 200, 429]);
  });

  test("unknown keys count by address, and malformed ones do not count against them", async ({ db }) => {
    await using http = await startServer(db, { addressLimit: only(3) });
    const create = async (name: string): Promise<string> =>
      (await db.value<{ token: string }>("select jobforge_create_token($1, 'jobforge_app', $2)", [name, T]))
        .token;
    const malformed = Array.from({ length: 5 }, (_, index) => `jf_x${index}`);
    expect(await statusesOf(http, malformed)).toEqual([401, 401, 401, 429, 429]);
    const [first, second, late] = [await create("1"), await create("2"), await create("3")];
    expect(await statusesOf(http, [first, first, second, second])).toEqual([200, 200, 200, 200]);
    const guesses = [1, 2, 3, 4].map((digit) => `jf_00000000_${String(digit).repeat(64)}`);
    expect(await statusesOf(http, guesses)).toEqual([401, 401, 401, 429]);
    expect(await statusesOf(http, [first, second, late])).toEqual([200, 200, 429]);
    await db.query("update jobforge.tokens set revoked_at = now()");
    // A revoked key is no longer one that the server has accepted.
    expect(await statusesOf(http, [first, first])).toEqual([401, 429]);
  });

  test("junk does not reset the limits of callers", async ({ db }) => {
    await using http = await startServer(db, {
      rateLimit: only(2),
      addressLimit: { perSecond: 1e6, burst: 1e6 },
    });
    const token = await appToken(T);
    expect(await statusesOf(http, [token, token, token])).toEqual([200, 200, 429]);
    for (let index = 0; index < 50; index += 1) expect(await statusOf(http, await junk(index))).toBe(401);
    expect(await statusOf(http, token)).toBe(429);
  });
});

test("behind a proxy, the address is the one that the proxy reports", async ({ db }) => {
  await using http = await startServer(db, { addressLimit: only(1), trustProxy: 1 });
  const statusFrom = (forwarded: string): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      httpRequest(`${http.url}/v1/jobs`, { headers: { "x-forwarded-for": forwarded } }, ({ statusCode }) =>
        resolve(statusCode),
      )
        .on("error", reject)
        .end();
    });
  expect(await statusFrom("192.0.2.1")).toBe(401);
  // A client cannot choose its address: the proxy appends the true one.
  expect(await statusFrom("198.51.100.7, 192.0.2.1")).toBe(429);
  expect(await statusFrom("192.0.2.1, 192.0.2.2")).toBe(401);
});

plain.for<[TrustProxy, Record<string, string>, string]>([
  [false, { "x-forwarded-for": "192.0.2.1" }, "127.0.0.1"],
  [1, { "x-forwarded-for": "192.0.2.1" }, "192.0.2.1"],
  [1, { "x-forwarded-for": "192.0.2.9, 192.0.2.1" }, "192.0.2.1"],
  [2, { "x-forwarded-for": "192.0.2.9, 192.0.2.1, 10.0.0.1" }, "192.0.2.1"],
  [2, { "x-forwarded-for": "192.0.2.1" }, "127.0.0.1"],
  [1, {}, "127.0.0.1"],
  [1, { "x-forwarded-for": "unknown" }, "127.0.0.1"],
  [1, { "x-forwarded-for": "192.0.2.1:4711" }, "192.0.2.1"],
  [1, { "x-forwarded-for": "::ffff:192.0.2.1" }, "192.0.2.1"],
  [1, { "x-forwarded-for": "::FFFF:c000:201" }, "192.0.2.1"],
  [1, { "x-forwarded-for": "0:0:0:0:0:ffff:192.0.2.1" }, "192.0.2.1"],
  [1, { "x-forwarded-for": "0000:0000:0000:0000:0000:ffff:c000:0201" }, "192.0.2.1"],
  [1, { "x-forwarded-for": "0::ffff:192.0.2.1" }, "192.0.2.1"],
  [1, { "x-forwarded-for": "::192.0.2.1" }, "0:0:0:0::/64"],
  [1, { "x-forwarded-for": "[2001:db8:1:2::5]:4711" }, "2001:db8:1:2::/64"],
  [1, { "x-forwarded-for": "2001:0DB8:1:2:3:4:5:6" }, "2001:db8:1:2::/64"],
  [1, { "x-forwarded-for": "2001:db8::2:3:4:5" }, "2001:db8:0:0::/64"],
  [1, { "x-forwarded-for": "::1" }, "0:0:0:0::/64"],
  [1, { "x-forwarded-for": "64:ff9b::192.0.2.33" }, "64:ff9b:0:0::/64"],
  ["fly-client-ip", { "fly-client-ip": "192.0.2.1", "x-forwarded-for": "192.0.2.9" }, "192.0.2.1"],
])("with trustProxy %o and %o, the address is %s", ([trustProxy, headers, expected]) => {
  expect(clientAddress("127.0.0.1", new Headers(headers), trustProxy)).toBe(expected);
});

plain("a limit allows new requests as time passes", () => {
  let now = 0;
  const limiter = new RateLimiter({ perSecond: 2, burst: 1 }, { what: "requests", now: () => now });
  limiter.take("a");
  expect(() => limiter.take("a")).toThrow("Too many requests");
  now = 500;
  limiter.take("a");
  expect(() => limiter.take("a")).toThrow("Too many requests");
});

plain("only buckets that are full again are forgotten, and those without a bucket share one", () => {
  let now = 0;
  const options = { what: "requests", maxBuckets: 3, now: () => now };
  const limiter = new RateLimiter({ perSecond: 1, burst: 2 }, options);
  const takes = (name: string): boolean => {
    try {
      limiter.take(name);
      return true;
    } catch {
      return false;
    }
  };
  for (const name of ["a", "a", "b", "c"]) expect(takes(name)).toBe(true);
  for (let other = 0; other < 1000; other += 1)
    expect([other, takes(`other ${other}`)]).toEqual([other, other < 2]);
  // No other caller has pushed out the empty bucket, or taken from the others.
  expect([takes("a"), takes("b"), takes("c")]).toEqual([false, true, true]);
  now = 2000;
  expect([takes("d"), takes("d"), takes("d"), takes("a"), takes("a"), takes("a")]).toEqual([
    true,
    true,
    false,
    true,
    true,
    false,
  ]);
});
