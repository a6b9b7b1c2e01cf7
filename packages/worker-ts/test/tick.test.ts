/** Ticks: a limited number of due jobs, run by a cron job or over HTTP. */
import { defineJob, JobForge } from "@jobforge/sdk-ts";
import type { TestConnection, TestDatabase } from "@jobforge/testing";
import { Hono } from "hono";
import { describe, expect, onTestFinished, vi } from "vitest";
import { tickLooks } from "../src/defaults.ts";
import { configureJobsTickDev, createTickHandler, createWorker, runJobsTickDev } from "../src/index.ts";
import { enqueueMany, statuses } from "./support/jobs.ts";
import { observedClaims } from "./support/observed.ts";
import { keptLog, makeWorker, T, test } from "./support/work.ts";

const job = defineJob({ type: "a" });
const { logger } = keptLog();
const secret = "correct horse battery staple";

const post = (headers: Record<string, string> = {}): Request =>
  new Request("https://app.example/api/jobs/tick", { method: "POST", headers });

test("a tick runs up to its limit of due jobs, and returns how they ended", async ({ db, forge }) => {
  await enqueueMany(db, "a", 12);
  await db.query("select jobforge_enqueue_job($1, 'a', p_run_at => now() + interval '1 hour')", [T]);
  const worker = makeWorker(forge, { concurrency: 4, handlers: [job.handle(() => undefined)] });
  expect(await worker.tick({ limit: 5 })).toEqual({
    claimed: 5,
    succeeded: 5,
    retried: 0,
    failed: 0,
    deferred: 0,
    released: 0,
    canceled: 0,
    stale: 0,
  });
  expect(await statuses(db)).toEqual({ succeeded: 5, queued: 8 });
  expect(await worker.tick({ limit: 100 })).toMatchObject({ claimed: 7 });
  expect(await worker.tick()).toMatchObject({ claimed: 0 });
  await expect(worker.tick({ limit: 0 })).rejects.toThrow("limit");
  await expect(worker.tick(5 as never)).rejects.toThrow("options must be an object");
});

test("POST /api/jobs/tick responds with the counts, runs up to N jobs, and retries failures later", async ({
  db,
  forge,
}) => {
  await enqueueMany(db, "a", 5);
  const handlers = [job.handle(() => Promise.reject(new Error("not yet")))];
  const handle = createTickHandler({ forge, handlers, secret, limit: 3, logger });
  const response = await handle(post({ authorization: `Bearer ${secret}` }));
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({
    ok: true,
    claimed: 3,
    succeeded: 0,
    retried: 3,
    failed: 0,
    deferred: 0,
    released: 0,
    canceled: 0,
    stale: 0,
  });
  expect(await statuses(db)).toEqual({ queued: 5 });
  expect(
    await db.value("select count(*)::int from jobforge_jobs where attempts = 1 and run_at > now()"),
  ).toBe(3);
});

test("a tick requires its secret, in one of two headers", async ({ forge }) => {
  const handle = createTickHandler({ forge, handlers: [job.handle(() => undefined)], secret, logger });
  const refused: Record<string, string>[] = [
    {},
    { authorization: "Bearer wrong" },
    { authorization: secret },
    { "x-jobforge-secret": `${secret}.` },
    { authorization: "Bearer wrong", "x-jobforge-secret": secret },
  ];
  for (const headers of refused)
    expect((await handle(post(headers))).status, JSON.stringify(headers)).toBe(401);
  expect((await handle(post({ authorization: `bearer ${secret}` }))).status).toBe(200);
  expect((await handle(post({ "x-jobforge-secret": secret }))).status).toBe(200);
});

test("a tick accepts a GET with the secret, as cron services of platforms send it, and no other method", async ({
  db,
  forge,
}) => {
  await enqueueMany(db, "a", 1);
  vi.stubEnv("JOBFORGE_TICK_SECRET", undefined);
  vi.stubEnv("CRON_SECRET", secret);
  onTestFinished(() => void vi.unstubAllEnvs());
  const handle = createTickHandler({ forge, handlers: [job.handle(() => undefined)], logger });
  const ask = (method: string, token: string): Promise<Response> =>
    handle(
      new Request("https://app.example/api/jobs/tick", {
        method,
        headers: { authorization: `Bearer ${token}` },
      }),
    );
  expect((await ask("GET", "wrong")).status).toBe(401);
  const response = await ask("GET", secret);
  expect([response.status, await response.json()]).toMatchObject([200, { ok: true, claimed: 1 }]);
  expect(response.headers.get("cache-control")).toBe("no-store");
  const refused = await ask("PUT", secret);
  expect(refused.status).toBe(405);
  expect(refused.headers.get("allow")).toBe("GET, POST");
});

describe("a tick that came back short although something is due", () => {
  /** A schedule that is due and that another claim is about to make a run of. */
  async function heldSchedules(db: TestDatabase): Promise<TestConnection> {
    await db.query(
      `select jobforge_ensure_schedule($1, 'a', n::text, '{"dynamic": true}') from generate_series(1, 3) n`,
      [T],
    );
    const other = await db.connect();
    await other.query("begin");
    expect(await other.query("select id from jobforge_claim_jobs('other', 1)")).toHaveLength(1);
    return other;
  }

  test("looks again, and gets what another claim has made ready meanwhile", async ({ db, forge }) => {
    const other = await heldSchedules(db);
    const { forge: watched, claims } = observedClaims(forge);
    const ticking = createWorker(watched, { handlers: [job.handle(() => undefined)], logger }).tick({
      limit: 2,
    });
    // The second look shows that the first one came back.
    await claims.times(2);
    await other.query("commit");
    expect(await ticking).toMatchObject({ claimed: 2, succeeded: 2 });
  });

  test("ends after a few looks if nothing comes", async ({ db, forge }) => {
    const other = await heldSchedules(db);
    const { forge: watched, claims } = observedClaims(forge);
    const worker = createWorker(watched, { handlers: [job.handle(() => undefined)], logger });
    expect(await worker.tick({ limit: 2 })).toMatchObject({ claimed: 0 });
    expect(claims.values.length).toBe(1 + tickLooks);
    await other.query("rollback");
  });

  test("looks once if nothing is due", async ({ db, forge }) => {
    await db.query("select jobforge_enqueue_job($1, 'a', p_run_at => now() + interval '1 hour')", [T]);
    const { forge: watched, claims } = observedClaims(forge);
    await createWorker(watched, { handlers: [job.handle(() => undefined)], logger }).tick();
    expect(claims.values.length).toBe(1);
  });
});

test("a tick counts a failed run of a schedule as one that runs again, and logs no error", async ({
  db,
  forge,
}) => {
  await db.query(`select jobforge_ensure_schedule($1, 'a', 'k', '{"dynamic": true}')`, [T]);
  const { logger: kept, lines } = keptLog();
  const handlers = [job.handle(() => Promise.reject(new Error("503")))];
  const worker = makeWorker(forge, { handlers, logger: kept });
  expect(await worker.tick()).toMatchObject({ claimed: 1, retried: 1, failed: 0 });
  expect(lines.filter(({ level }) => level !== "info" && level !== "debug")).toMatchObject([
    { level: "warn", message: "Run failed, and its schedule continues", error: "503" },
  ]);
  await forge.policies.set("a", { maxAttempts: 1 });
  await db.query(`select jobforge_ensure_schedule($1, 'a', 'r', '{"dynamic": true, "retry_runs": true}')`, [
    T,
  ]);
  expect(await worker.tick()).toMatchObject({ claimed: 1, retried: 0, failed: 1 });
});

test("a tick handler cannot be created without a secret", ({ forge }) => {
  const handlers = [job.handle(() => undefined)];
  expect(() => createTickHandler({ forge, handlers, secret: "" })).toThrow(
    expect.objectContaining({ field: "secret", hint: expect.stringContaining("JOBFORGE_TICK_SECRET") }),
  );
  expect(() => createTickHandler({ forge, handlers: [], secret })).toThrow("handlers");
});

test("a tick whose database is down responds 503 without the reason", async ({ db }) => {
  await using forge = new JobForge({ database: db.url.replace(/:\d+\//, ":1/") });
  const handle = createTickHandler({ forge, handlers: [job.handle(() => undefined)], secret, logger });
  const response = await handle(post({ authorization: `Bearer ${secret}` }));
  expect(response.status).toBe(503);
  expect(await response.json()).toEqual({ ok: false, error: "The jobs could not be run" });
});

test("the handler serves as a route of Hono as it is, and of Next.js as an export", async ({ db, forge }) => {
  await enqueueMany(db, "a", 4);
  const handle = createTickHandler({
    forge,
    handlers: [job.handle(() => undefined)],
    secret,
    limit: 2,
    logger,
  });
  const app = new Hono().post("/api/jobs/tick", (c) => handle(c.req.raw));
  const headers = { authorization: `Bearer ${secret}` };
  expect(await (await app.request("/api/jobs/tick", { method: "POST", headers })).json()).toMatchObject({
    ok: true,
    succeeded: 2,
  });
  // Next.js does this with app/api/jobs/tick/route.ts: export const POST = handle.
  const route: { POST: (request: Request) => Promise<Response> } = { POST: handle };
  expect((await route.POST(post(headers))).status).toBe(200);
  expect(await statuses(db)).toEqual({ succeeded: 4 });
});

test("simultaneous ticks share the work", async ({ db, forge }) => {
  await enqueueMany(db, "a", 30);
  const handle = createTickHandler({
    forge,
    handlers: [job.handle(() => undefined)],
    secret,
    limit: 10,
    logger,
  });
  await Promise.all([1, 2, 3].map(() => handle(post({ authorization: `Bearer ${secret}` }))));
  expect(await statuses(db)).toEqual({ succeeded: 30 });
  expect(await db.value("select max(attempts) from jobforge_jobs")).toBe(1);
});

test("runJobsTickDev() runs with the options that were configured", async ({ db, forge }) => {
  await enqueueMany(db, "a", 3);
  await expect(runJobsTickDev()).rejects.toThrow("configureJobsTickDev");
  configureJobsTickDev({ forge, handlers: [job.handle(() => undefined)], limit: 2, logger });
  expect(await runJobsTickDev()).toBeUndefined();
  expect(await statuses(db)).toEqual({ succeeded: 2, queued: 1 });
});
