/** Ticks: a limited number of due jobs, run by a cron job or over HTTP. */
import { defineJob, JobForge } from "@jobforge/sdk-ts";
import { Hono } from "hono";
import { expect } from "vitest";
import { configureJobsTickDev, createTickHandler, runJobsTickDev } from "../src/index.ts";
import { enqueueMany, statuses } from "./support/jobs.ts";
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
});

test("POST /api/jobs/tick responds { ok: true }, runs up to N jobs, and retries failures later", async ({
  db,
  forge,
}) => {
  await enqueueMany(db, "a", 5);
  const handlers = [job.handle(() => Promise.reject(new Error("not yet")))];
  const handle = createTickHandler({ forge, handlers, secret, limit: 3, logger });
  const response = await handle(post({ authorization: `Bearer ${secret}` }));
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({ ok: true });
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

test("a tick must be a POST", async ({ forge }) => {
  const handle = createTickHandler({ forge, handlers: [job.handle(() => undefined)], secret, logger });
  const response = await handle(new Request("https://app.example/api/jobs/tick"));
  expect(response.status).toBe(405);
  expect(response.headers.get("allow")).toBe("POST");
});

test("a tick handler cannot be created without a secret", ({ forge }) => {
  const handlers = [job.handle(() => undefined)];
  expect(() => createTickHandler({ forge, handlers, secret: "" })).toThrow("JOBFORGE_TICK_SECRET");
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
  expect(await (await app.request("/api/jobs/tick", { method: "POST", headers })).json()).toEqual({
    ok: true,
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
