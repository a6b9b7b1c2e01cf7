/** A short run with a few faults: the whole suite works, and every promise is kept. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { faultKinds, faultsNamed } from "../src/faults/index.ts";
import { run } from "../src/run.ts";

test("nothing is lost when a worker is killed, Postgres crashes, connections are cut and statements fail", {
  timeout: 300_000,
}, async () => {
  const names = ["worker-kill", "postgres-crash", "connections-cut", "serialization-errors"];
  const log: string[] = [];
  const result = await run({
    folder: mkdtempSync(join(tmpdir(), "jobforge-chaos-test-")),
    seed: 67,
    // One round, in which each fault happens once.
    minutes: 0,
    kinds: faultsNamed(names),
    workers: 2,
    producers: 1,
    pairs: 0,
    version: process.env["JOBFORGE_TEST_POSTGRES"] === "15" ? 15 : 18,
    onProgress: (message) => log.push(message),
  });
  expect(result.violations, [...log, ...result.histories].join("\n")).toEqual([]);
  expect(result.steps.flatMap(({ faults }) => faults).sort()).toEqual([...names].sort());
  const { jobs, executions, scheduleRuns } = result.figures;
  // The run did enough work for something to go wrong.
  expect(jobs["succeeded"]).toBeGreaterThan(20);
  expect(executions).toBeGreaterThan(20);
  expect(scheduleRuns).toBeGreaterThan(0);
});

test("nothing is lost when handed jobs do not arrive, their workers are killed or restarted, or enqueues stay open", {
  timeout: 300_000,
}, async () => {
  const names = ["hand-off-unheard", "hand-off-killed", "hand-off-open", "hand-off-restarted"];
  const log: string[] = [];
  const result = await run({
    folder: mkdtempSync(join(tmpdir(), "jobforge-chaos-test-")),
    seed: 68,
    minutes: 0,
    kinds: faultsNamed(names),
    workers: 2,
    producers: 1,
    pairs: 0,
    version: process.env["JOBFORGE_TEST_POSTGRES"] === "15" ? 15 : 18,
    isPlain: true,
    onProgress: (message) => log.push(message),
  });
  expect(result.violations, [...log, ...result.histories].join("\n")).toEqual([]);
  expect(result.steps.flatMap(({ faults }) => faults).sort()).toEqual([...names].sort());
  expect(result.figures.handed).toBeGreaterThan(20);
});

test("faults are found by name, and an unknown name is rejected", () => {
  expect(faultsNamed(["xmin-pinned"]).map(({ name }) => name)).toEqual(["xmin-pinned"]);
  expect(() => faultsNamed(["sunshine"])).toThrow(/Unknown faults: sunshine.*worker-kill/s);
  expect(new Set(faultKinds.map(({ name }) => name)).size).toBe(faultKinds.length);
});
