/** Limits on the number of requests. */
import { expect, test as plain } from "vitest";
import { RateLimiter } from "../src/rate-limit.ts";
import { appToken, type RequestOptions, sign, startServer, T, test } from "./support/server.ts";

test("requests are limited by token, and a refusal says when to try again", async ({ db }) => {
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

test("malformed requests and requests without a token count as well", async ({ db }) => {
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

test("unknown keys are limited by address, and known keys are not", async ({ db }) => {
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

plain("a limit allows new requests as time passes", () => {
  let now = 0;
  const limiter = new RateLimiter({ perSecond: 2, burst: 1 }, () => now);
  limiter.take("a");
  expect(() => limiter.take("a")).toThrow("Too many requests");
  now = 500;
  limiter.take("a");
  expect(() => limiter.take("a")).toThrow("Too many requests");
  for (let other = 0; other < 30_000; other += 1) limiter.take(`caller ${other}`);
});
