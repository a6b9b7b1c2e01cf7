/** Running jobs inside a test. */
import { defineJob, JobForge, typed } from "@jobforge/sdk-ts";
import { drain, runJob } from "@jobforge/testing";
import { expect } from "vitest";
import { test } from "../../../test/database.ts";

const tenantId = "11111111-1111-4111-8111-111111111111";
const double = defineJob({ type: "double", input: typed<{ n: number }>(), output: typed<{ n: number }>() });
const parent = defineJob({ type: "parent", input: typed<{ children: number }>() });

const handlers = [
  double.handle(({ n }) => {
    if (n < 0) throw new Error("no negative numbers");
    return { n: 2 * n };
  }),
  parent.handle(({ children }, job) => {
    for (let n = 0; n < children; n += 1) job.enqueue(double, { n });
  }),
];

test("all due jobs run, and the jobs that these enqueue", async ({ db }) => {
  await using forge = new JobForge({ database: db.url });
  await forge.enqueue(parent, { children: 150 }, { tenantId });
  await forge.enqueue(double, { n: -1 }, { tenantId });
  await forge.enqueue(double, { n: 1 }, { tenantId, runAt: new Date(Date.now() + 3_600_000) });
  expect(await drain(forge, handlers)).toMatchObject({ claimed: 152, succeeded: 151, retried: 1, failed: 0 });
});

test("a job runs inside the test, and its output is returned", async ({ db }) => {
  await using forge = new JobForge({ database: db.url });
  expect(await runJob(forge, double, { n: 21 }, { tenantId, handlers })).toEqual({ n: 42 });
});

test("a job that waits for its retry is an error with the reason", async ({ db }) => {
  await using forge = new JobForge({ database: db.url });
  await expect(runJob(forge, double, { n: -1 }, { tenantId, handlers })).rejects.toThrow(
    /queued until .* no negative numbers/,
  );
  await expect(
    runJob(forge, double, { n: -1 }, { tenantId, handlers, maxAttempts: 1 }),
  ).rejects.toMatchObject({
    name: "JobFailedError",
  });
});

test("a client with a later clock runs the jobs that are due then", async ({ db }) => {
  await using today = new JobForge({ database: db.url });
  const job = await today.enqueue(
    double,
    { n: 1 },
    { tenantId, runAt: new Date(Date.now() + 20 * 3_600_000) },
  );
  expect(await drain(today, handlers)).toMatchObject({ claimed: 0 });
  await using tomorrow = new JobForge({ database: db.urlAt("1 day") });
  expect(await drain(tomorrow, handlers)).toMatchObject({ succeeded: 1 });
  expect(await job.result()).toEqual({ n: 2 });
});

test("a run writes to the logger of the test", async ({ db }) => {
  await using forge = new JobForge({ database: db.url });
  const lines: unknown[] = [];
  const write = (_: object, message?: string): void => void lines.push(message);
  const logger = { debug: write, info: write, warn: write, error: write };
  const logged = double.handle((input, job) => {
    job.log.info({}, "doubling");
    return { n: 2 * input.n };
  });
  await runJob(forge, double, { n: 1 }, { tenantId, handlers: [logged] });
  expect(lines).toEqual([]);
  await runJob(forge, double, { n: 1 }, { tenantId, handlers: [logged], logger });
  expect(lines).toContain("doubling");
});
