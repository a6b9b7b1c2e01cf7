/** A worker's own metrics, which its heartbeats report. */
import { defineJob } from "@jobforge/sdk-ts";
import { expect } from "vitest";
import { type LatencyBin, latencyBins } from "../../src/index.ts";
import { Meter } from "../../src/reporting/meter.ts";
import { Happening } from "../support/happening.ts";
import { enqueueMany, loseLeases } from "../support/jobs.ts";
import { makeWorker, startWorker, test } from "../support/work.ts";

const job = defineJob({ type: "a" });
const calls = (bins: readonly LatencyBin[]): number => bins.reduce((sum, [count]) => sum + count, 0);

test("runs, claims and settles are counted and reported with the heartbeat", async ({ db, forge }) => {
  const done = new Happening();
  await enqueueMany(db, "a", 3);
  const worker = await startWorker(forge, {
    id: "w1",
    heartbeatMs: 100,
    handlers: [job.handle(() => undefined)],
    hooks: { onSuccess: () => done.now() },
  });
  await done.times(3);
  const { claim, settle, runs, heardAt } = worker.metrics();
  expect(runs).toMatchObject({ claimed: 3, succeeded: 3, stale: 0 });
  expect([claim.length, settle.length]).toEqual([latencyBins.length + 1, latencyBins.length + 1]);
  expect(calls(claim)).toBeGreaterThan(0);
  expect(calls(settle)).toBeGreaterThan(0);
  expect(heardAt).toBeInstanceOf(Date);
  for (const [count, seconds] of claim) expect(seconds > 0).toBe(count > 0);
  const reported = async (): Promise<unknown> =>
    await db.value(
      `select sum((b ->> 0)::int)::int
       from jobforge.workers w, jsonb_array_elements(w.info -> 'metrics' -> 'settle') b where w.id = 'w1'`,
    );
  await expect.poll(reported, { timeout: 20_000 }).toBe(calls(settle));
  await worker.stop();
  // The metrics can still be read after the worker has stopped.
  expect(worker.metrics().runs.succeeded).toBe(3);
});

test("refused ends are counted as stale", async ({ db, forge }) => {
  await enqueueMany(db, "a", 1);
  const worker = makeWorker(forge, {
    handlers: [job.handle(() => loseLeases(db))],
  });
  expect(worker.metrics()).toMatchObject({ runs: { claimed: 0 }, heardAt: undefined });
  await worker.tick({ limit: 1 });
  expect(worker.metrics().runs).toMatchObject({ claimed: 1, stale: 1, succeeded: 0 });
});

test("a call counts in the first bin whose limit it does not exceed, or in the last one if it exceeds all", () => {
  const meter = new Meter();
  for (const ms of [1, 1.1, 60_000]) meter.noteCall(ms, 0, true);
  meter.noteCall(5, 2, false);
  const { claim, settle } = meter.read();
  expect(claim.flatMap(([count, seconds], place) => (count > 0 ? [[place, count, seconds]] : []))).toEqual([
    [0, 1, 0.001],
    [1, 1, 0.0011],
    [latencyBins.length, 1, 60],
  ]);
  expect(settle.findIndex(([count]) => count > 0)).toBe(latencyBins.indexOf(0.005));
});
