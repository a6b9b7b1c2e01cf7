/**
 * Tests the whole driver with JobForge on a real Postgres, in the smallest size, and with a peer that is not installed.
 */
import { fileURLToPath } from "node:url";
import { expect, inject, test } from "vitest";
import { findRedis } from "../../test/redis.ts";
import { jobforge, onRedis, type Peer, peers } from "../src/driver/peers.ts";
import { type CellResults, type RunResults, run } from "../src/driver/run.ts";
import { startServer } from "../src/server.ts";
import { full, workloads } from "../src/workloads/index.ts";
import type { Size } from "../src/workloads/workload.ts";

const size: Size = {
  ...full,
  burnSeconds: 20,
  enqueueSeconds: 0.1,
  fillJobs: 300,
  fillSeconds: 20,
  wakeSeconds: 0.2,
  patienceSeconds: 60,
  floodSeconds: 0.2,
  floodJobs: 100,
  crowd: 2000,
};

/** A contestant that follows the contract but supports nothing. */
const helpless: Peer = {
  name: "helpless",
  store: "postgres",
  settings: ["best", "default"],
  launch: async () => ({
    command: process.execPath,
    args: [fileURLToPath(new URL("helpless.js", import.meta.url))],
  }),
};

const absent: Peer = {
  ...helpless,
  name: "absent",
  launch: async () => {
    throw new Error("its compiler is not installed");
  },
};

async function play(only: readonly string[], peers: readonly Peer[], rounds = 1) {
  const server = await startServer({ url: inject("server").url });
  const progress: string[] = [];
  const results = await run(server, {
    peers,
    workloads: workloads.filter(({ id }) => only.includes(id)),
    rounds,
    size,
    quick: false,
    onProgress: (message) => progress.push(message),
  });
  return { results, progress, server };
}

function outcomesOf({ cells }: RunResults, id: string): CellResults["results"][number]["outcomes"] {
  const [result] = cells.find(({ cell }) => cell.id === id)?.results ?? [];
  expect(result).not.toHaveProperty("failed");
  expect(result).not.toHaveProperty("unsupported");
  return result?.outcomes ?? [];
}

test("JobForge runs burn-downs, and the cost of each job is measured", {
  timeout: 300_000,
}, async () => {
  const only = ["enqueue-1", "enqueue-50", "burn-down-1", "failures", "pinned", "finished"];
  const { results } = await play(only, [jobforge]);
  for (const id of [...only, "enqueue-bulk"]) {
    const [outcome] = outcomesOf(results, id);
    expect(outcome?.figures["rate"]).toBeGreaterThan(0);
    expect(outcome?.cost?.walBytes).toBeGreaterThan(100);
  }
  // One commit for each job that is enqueued alone, few commits for jobs that are enqueued at once or in bulk.
  expect(outcomesOf(results, "enqueue-1")[0]?.cost?.commits).toBeGreaterThan(0.9);
  expect(outcomesOf(results, "enqueue-50")[0]?.cost?.commits).toBeLessThan(0.5);
  expect(outcomesOf(results, "enqueue-bulk")[0]?.cost?.commits).toBeLessThan(0.5);
  // The claim deletes the row of each job from the queue, and the settlement deletes it from the runs.
  expect(outcomesOf(results, "burn-down-1")[0]?.cost?.deadRows).toBeGreaterThan(1.9);
});

test("JobForge's waits are measured, on an idle worker and during a flood", {
  timeout: 300_000,
}, async () => {
  const { results } = await play(["wake-up", "flood"], [jobforge]);
  const [woken] = outcomesOf(results, "wake-up");
  expect(woken?.figures["p50"]).toBeGreaterThan(0);
  expect(woken?.figures["p95"]).toBeGreaterThanOrEqual(woken?.figures["p50"] ?? Number.NaN);
  expect(outcomesOf(results, "flood")[0]?.figures["times"]).toBeGreaterThan(0);
});

test("every second round reverses the order, unsupported work is tried once, missing peers are named", {
  timeout: 300_000,
}, async () => {
  const { results, progress } = await play(["burn-down-1"], [jobforge, helpless, absent], 2);
  expect(results.missing).toEqual([{ name: "absent", reason: "its compiler is not installed" }]);
  expect(progress.filter((message) => message.startsWith("burn-down-1"))).toEqual([
    "burn-down-1 · jobforge · round 1 of 2",
    "burn-down-1 · helpless · round 1 of 2",
    "burn-down-1 · helpless, defaults · round 1 of 2",
    "burn-down-1 · jobforge · round 2 of 2",
  ]);
  expect(outcomesOf(results, "burn-down-1")).toHaveLength(2);
  expect(results.cells[0]?.results.slice(1)).toEqual([
    { contestant: "helpless", outcomes: [], unsupported: "it never enqueues" },
    { contestant: "helpless, defaults", outcomes: [], failed: "it fails with default settings" },
  ]);
});

test.skipIf((await findRedis()) === undefined)(
  "JobForge's handlers run on Redis, and what Redis does not have is not measured",
  { timeout: 300_000 },
  async () => {
    const only = ["enqueue-1", "burn-down-1", "wake-up", "limit"];
    const { results } = await play(
      only,
      peers.filter(({ name }) => name === onRedis),
    );
    expect(results).toMatchObject({ missing: [], redis: expect.any(String) });
    for (const id of ["enqueue-1", "burn-down-1"])
      expect(outcomesOf(results, id)[0]?.figures["rate"]).toBeGreaterThan(0);
    expect(outcomesOf(results, "wake-up")[0]?.figures["p50"]).toBeGreaterThan(0);
    const [limited] = results.cells.find(({ cell }) => cell.id === "limit")?.results ?? [];
    expect(limited?.unsupported).toContain("Redis has no limits");
  },
);
