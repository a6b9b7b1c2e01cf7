/** Claims are cut by bytes. A worker goes on until all jobs are done. */
import { defineJob } from "@jobforge/sdk-ts";
import type { TestDatabase } from "@jobforge/testing";
import { expect } from "vitest";
import { Happening } from "../support/happening.ts";
import { statuses, untilFinished } from "../support/jobs.ts";
import { makeWorker, startWorker, T, test } from "../support/work.ts";

/** More than two claims can bring. */
const total = 40;

async function enqueueLarge(db: TestDatabase): Promise<void> {
  await db.query(
    "select count(jobforge_enqueue_job($1, 'a', to_jsonb(repeat('a', 1048000)))) from generate_series(1, $2::int)",
    [T, total],
  );
}

const handlers = [defineJob({ type: "a" }).handle(() => undefined)];

test("a tick does not take a claim that was cut for the end of the queue", async ({ db, forge }) => {
  await enqueueLarge(db);
  const gate = new Happening();
  let started = 0;
  // No run ends before all have started, so no settle takes a claim along.
  const waiting = defineJob({ type: "a" }).handle(async () => {
    started += 1;
    if (started === total) gate.now();
    await gate.once();
  });
  const worker = makeWorker(forge, { concurrency: 100, handlers: [waiting] });
  expect(await worker.tick({ limit: 100 })).toMatchObject({ claimed: total, succeeded: total });
});

test("a worker with 800 slots runs all jobs, although a claim brings only 16 MiB of them", async ({
  db,
  forge,
}) => {
  await enqueueLarge(db);
  await startWorker(forge, { concurrency: 800, handlers });
  await untilFinished(db, total);
  expect(await statuses(db)).toEqual({ succeeded: total });
});
