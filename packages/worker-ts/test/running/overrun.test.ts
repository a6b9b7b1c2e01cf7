/** Handlers of schedules that ignore their timeout: their schedules wait for them, for a while. */
import { defineJob } from "@jobforge/sdk-ts";
import { expect } from "vitest";
import { Happening, until } from "../support/happening.ts";
import { keptLog, makeWorker, startWorker, T, test } from "../support/work.ts";

const message = "The handler ignores its timeout; its slot becomes free, and its schedule waits for it";

test("no run starts next to a handler that ignores its timeout, and its slot serves other jobs", async ({
  forge,
}) => {
  const fetch = defineJob({ type: "fetch", timeoutMs: 1_000 });
  const other = defineJob({ type: "other" });
  const [started, others, mayReturn] = [new Happening(), new Happening(), new Happening()];
  const { logger, lines } = keptLog();
  const worker = await startWorker(forge, {
    concurrency: 1,
    abortGraceMs: 1,
    logger,
    handlers: [
      fetch.handle(async () => {
        started.now();
        await mayReturn.once();
      }),
      other.handle(() => others.now()),
    ],
  });
  await forge.schedules.ensure(fetch, "feed", { tenantId: T, dynamic: true });
  await started.once();
  await until(() => lines.some((line) => line.message === message));
  expect(worker.running).toBe(0);
  await forge.schedules.run(fetch, "feed", { tenantId: T });
  await forge.enqueue(other, {}, { tenantId: T });
  await others.once();
  expect(started.values).toHaveLength(1);
  expect(await forge.schedules.get(fetch, "feed", { tenantId: T })).toMatchObject({
    consecutiveFailures: 0,
    runRequested: true,
    liveRuns: 1,
  });
  mayReturn.now();
  await started.times(2);
  expect(await forge.schedules.get(fetch, "feed", { tenantId: T })).toMatchObject({ consecutiveFailures: 1 });
});

test("the schedule goes on when the handler has overrun six times its timeout", async ({ forge }) => {
  const fetch = defineJob({ type: "fetch", timeoutMs: 20 });
  const started = new Happening();
  const never = new Happening();
  await startWorker(forge, {
    abortGraceMs: 1,
    handlers: [
      fetch.handle(async () => {
        started.now();
        await never.once();
      }),
    ],
  });
  await forge.schedules.ensure(fetch, "feed", { tenantId: T, dynamic: true });
  await started.times(2);
  expect(await forge.schedules.get(fetch, "feed", { tenantId: T })).toMatchObject({
    lastError: "The handler took longer than 20 ms",
  });
});

test("a tick does not wait for such a handler", async ({ forge }) => {
  const fetch = defineJob({ type: "fetch", timeoutMs: 10 });
  const never = new Happening();
  const handlers = [fetch.handle(() => never.once())];
  await forge.schedules.ensure(fetch, "feed", { tenantId: T, dynamic: true });
  expect(await makeWorker(forge, { abortGraceMs: 1, handlers }).tick()).toMatchObject({ retried: 1 });
});

test("a worker that stops ends the run of such a handler", async ({ forge }) => {
  const fetch = defineJob({ type: "fetch", timeoutMs: 1_000 });
  const { logger, lines } = keptLog();
  const never = new Happening();
  const handlers = [fetch.handle(() => never.once())];
  const worker = await startWorker(forge, { abortGraceMs: 1, logger, handlers });
  await forge.schedules.ensure(fetch, "feed", { tenantId: T, dynamic: true });
  await until(() => lines.some((line) => line.message === message));
  await worker.stop({ graceMs: 60_000 });
  expect(await forge.schedules.get(fetch, "feed", { tenantId: T })).toMatchObject({
    consecutiveFailures: 1,
    liveRuns: 0,
  });
});
