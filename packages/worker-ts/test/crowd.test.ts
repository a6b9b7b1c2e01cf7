/** Many workers at the same time: busy, and idle. */
import { defineJob, JobForge, sleep } from "@jobforge/sdk-ts";
import { expect } from "vitest";
import { createWorker, type Worker } from "../src/index.ts";
import { Happening } from "./support/happening.ts";
import { enqueueMany, statuses, untilFinished, untilMarked } from "./support/jobs.ts";
import { observed } from "./support/observed.ts";
import { keptLog, startWorker, test } from "./support/work.ts";

const job = defineJob({ type: "a" });

test("a hundred workers for one type run every job, and no job twice", async ({ db, forge }) => {
  await enqueueMany(db, "a", 5_000, 10);
  const runs = new Map<string, number>();
  const busy = new Set<number>();
  await Promise.all(
    Array.from({ length: 100 }, (_, n) =>
      startWorker(forge, {
        listen: false,
        concurrency: 2,
        handlers: [
          job.handle((_input, { id }) => {
            busy.add(n);
            runs.set(id, (runs.get(id) ?? 0) + 1);
          }),
        ],
      }),
    ),
  );
  await untilFinished(db, 5_000);
  expect(await statuses(db)).toEqual({ succeeded: 5_000 });
  expect(runs.size).toBe(5_000);
  expect([...runs.values()].filter((times) => times > 1)).toEqual([]);
  expect(await db.value("select max(attempts - uncounted) from jobforge_jobs")).toBe(1);
  expect(busy.size, "workers that ran a job").toBeGreaterThan(1);
});

/** How long the idle workers are observed, in milliseconds. */
const observationMs = 4_000;

test("a hundred idle workers call the database no more often than they must", async ({ db }) => {
  await using forge = new JobForge({ database: db.url });
  const calls = new Happening<string>();
  const observedForge = observed(forge, calls.now);
  const workers: Worker[] = [];
  for (let n = 0; n < 100; n += 1) {
    workers.push(
      createWorker(observedForge, { logger: keptLog().logger, handlers: [job.handle(() => undefined)] }),
    );
  }
  try {
    await Promise.all(workers.map((worker) => worker.start()));
    await untilMarked(db, 100);
    const commits = (): Promise<number> =>
      db.value("select xact_commit::int from pg_stat_database where datname = current_database()");
    const [before, committed, cpu] = [calls.values.length, await commits(), process.cpuUsage()];
    const since = performance.now();
    await sleep(observationMs);
    const seconds = (performance.now() - since) / 1_000;
    const { user, system } = process.cpuUsage(cpu);
    const made = calls.values.length - before;
    console.log(
      `100 idle workers: ${Math.round((made / seconds) * 60)} statements a minute, ` +
        `${Math.round((((await commits()) - committed) / seconds) * 60)} commits a minute, ` +
        `${((user + system) / 10_000 / seconds).toFixed(1)} % of a core in this process`,
    );
    // At most a claim every 1.8 seconds and a heartbeat every 9, and one of each that was due anyway.
    expect(made).toBeLessThanOrEqual(100 * (seconds / 1.8 + seconds / 9 + 2));
    // Every worker calls again: none sleeps for ever.
    await calls.times(before + 100);
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
  }
});
