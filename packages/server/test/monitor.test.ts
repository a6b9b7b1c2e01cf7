/** The HTTP port of one worker: probes and metrics. */
import { defineJob, JobForge } from "@jobforge/sdk-ts";
import { createWorker, type Worker } from "@jobforge/worker-ts";
import { pino } from "pino";
import { describe, expect } from "vitest";
import { monitorWorker } from "../src/index.ts";
import { T, test } from "./support/server.ts";

describe("a worker's port", () => {
  const until = { timeout: 20_000 };

  test("shows whether the worker is alive and ready, and its metrics", async ({ db }) => {
    await using forge = new JobForge({ database: db.url });
    await db.query("select jobforge_enqueue_job($1, 'a')", [T]);
    const handlers = [defineJob({ type: "a" }).handle(() => undefined)];
    await using worker = createWorker(forge, { handlers, logger: pino({ level: "silent" }) });
    await using monitor = await monitorWorker(worker, { port: 0 });
    const get = async (path: string): Promise<[number, string]> => {
      const response = await fetch(`${monitor.url}${path}`);
      return [response.status, await response.text()];
    };
    expect(await get("/healthz")).toEqual([200, '{"ok":true}']);
    expect(await get("/readyz")).toEqual([
      503,
      expect.stringContaining("has not received a heartbeat from this worker yet"),
    ]);
    await worker.start();
    expect(await get("/readyz")).toEqual([200, '{"ok":true}']);
    const succeeded = 'jobforge_worker_runs_total{outcome="succeeded"} 1';
    await expect.poll(async () => (await get("/metrics"))[1], until).toContain(succeeded);
    const [, text] = await get("/metrics");
    for (const line of [
      /^jobforge_worker_running 0$/m,
      /^jobforge_worker_claim_seconds_count [1-9]/m,
      /^process_cpu/m,
    ])
      expect(text).toMatch(line);
    expect(text).not.toContain(T);
    expect((await get("/v1/jobs"))[0]).toBe(404);
  });

  test("is not ready when the last contact is longer ago than the worker timeout", async () => {
    const heardAt = new Date(Date.now() - 61_000);
    const metrics = () => ({ claim: [], settle: [], runs: {}, heardAt });
    await using monitor = await monitorWorker({ running: 0, metrics } as unknown as Worker, { port: 0 });
    const response = await fetch(`${monitor.url}/readyz`);
    expect([response.status, await response.json()]).toMatchObject([
      503,
      { reason: expect.stringContaining("since 20") },
    ]);
  });
});
