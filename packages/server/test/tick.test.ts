/** POST /api/jobs/tick. */
import { defineJob, JobForge } from "@jobforge/sdk-ts";
import { createTickHandler } from "@jobforge/worker-ts";
import { pino } from "pino";
import { expect } from "vitest";
import { startServer, T, test } from "./support/server.ts";

test("a tick runs due jobs for a caller that knows its secret", async ({ db }) => {
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
  const response = await http.request("/api/jobs/tick", {
    method: "POST",
    headers: { "x-jobforge-secret": "tick secret" },
  });
  expect([response.status, await response.json(), done.length]).toMatchObject([
    200,
    { ok: true, claimed: 1 },
    1,
  ]);
  await using without = await startServer(db);
  expect((await without.request("/api/jobs/tick", { method: "POST" })).status).toBe(404);
});
