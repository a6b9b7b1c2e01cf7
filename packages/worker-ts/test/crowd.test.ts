/** Many workers at once: at work, and with nothing to do. */
import { defineJob, JobForge } from "@jobforge/sdk-ts";
import { expect } from "vitest";
import { createWorker, type Worker } from "../src/index.ts";
import { observed } from "./support/observed.ts";
import {
  enqueueMany,
  Happening,
  keptLog,
  startWorker,
  statuses,
  test,
  until,
  untilEnded,
} from "./support/work.ts";

const job = defineJob({ type: "a" });

test("a hundred workers on one type run every job, and none of them twice", async ({ db, forge }) => {
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
  await untilEnded(db, 5_000);
  expect(await statuses(db)).toEqual({ succeeded: 5_000 });
  expect(runs.size).toBe(5_000);
  expect([...runs.values()].filter((times) => times > 1)).toEqual([]);
  expect(await db.value("select max(attempts - uncounted) from jobforge_jobs")).toBe(1);
  expect(busy.size, "workers that got something").toBeGreaterThan(1);
});

/** How long idle workers are watched, in milliseconds. */
const WATCH_MS = 4_000;

test("a hundred idle workers ask the database as seldom as they may", async ({ db }) => {
  await using forge = new JobForge({ database: db.url });
  const calls = new Happening<string>();
  const watched = observed(forge, calls.now);
  const workers: Worker[] = [];
  for (let n = 0; n < 100; n += 1) {
    workers.push(
      createWorker(watched, { logger: keptLog().logger, handlers: [job.handle(() => undefined)] }),
    );
  }
  try {
    await Promise.all(workers.map((worker) => worker.start()));
    await until(async () => (await db.value("select count(*)::int from jobforge.idle_workers")) === 100);
    const commits = (): Promise<number> =>
      db.value("select xact_commit::int from pg_stat_database where datname = current_database()");
    const [before, committed, cpu] = [calls.values.length, await commits(), process.cpuUsage()];
    const since = performance.now();
    await new Promise((resolve) => setTimeout(resolve, WATCH_MS));
    const seconds = (performance.now() - since) / 1_000;
    const { user, system } = process.cpuUsage(cpu);
    const made = calls.values.length - before;
    console.log(
      `100 idle workers: ${Math.round((made / seconds) * 60)} statements a minute, ` +
        `${Math.round((((await commits()) - committed) / seconds) * 60)} commits a minute, ` +
        `${((user + system) / 10_000 / seconds).toFixed(1)} % of a core in this process`,
    );
    // A look every 1.8 seconds and a heartbeat every 9, at most; and one of each that was due anyway.
    expect(made).toBeLessThanOrEqual(100 * (seconds / 1.8 + seconds / 9 + 2));
    // Every worker is heard of: they do not sleep for good.
    await calls.times(before + 100);
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
  }
});
