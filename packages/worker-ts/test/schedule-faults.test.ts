/** Schedules with many workers, killed workers and a restart of the database: every due time fires exactly once. */
import { defineJob, typed } from "@jobforge/sdk-ts";
import { expect } from "vitest";
import { startProcess } from "./support/child.ts";
import { until } from "./support/happening.ts";
import { attemptsOf } from "./support/jobs.ts";
import { test } from "./support/own-server.ts";
import { startWorker, T } from "./support/work.ts";

const slow = defineJob({ type: "slow", input: typed<{ ms: number }>() });
const beat = defineJob({ type: "beat" });
const ofT = { tenantId: T };

test("the job of a killed worker runs again, and counts as one run of its schedule", async ({
  ownDb: db,
  ownForge: forge,
}) => {
  await forge.policies.set("slow", { leaseMs: 1_000 });
  await forge.schedules.ensure(slow, "s1", { ...ofT, dynamic: true, payload: { ms: 600_000 } });
  const child = startProcess(db.url);
  const { job_id: id } = await child.logged(({ message }) => message === "Job started");
  expect(await forge.schedules.get(slow, "s1", ofT)).toMatchObject({
    runningSince: expect.any(Date),
    liveRuns: 1,
  });
  child.process.kill("SIGKILL");
  expect(await child.ended).toEqual({ code: null, signal: "SIGKILL" });
  const next = new Date("2100-01-01T00:00:00Z");
  await startWorker(forge, { handlers: [slow.handle((_, job) => job.nextRun(next))] });
  await until(async () => (await forge.schedules.get(slow, "s1", ofT))?.lastStatus === "succeeded");
  expect(await forge.schedules.get(slow, "s1", ofT)).toMatchObject({
    consecutiveFailures: 0,
    liveRuns: 0,
    runningSince: undefined,
    nextRunAt: next,
  });
  const { items } = await forge.schedules.runs(slow, "s1", ofT).page();
  expect(items.map((run) => run.id)).toEqual([id]);
  expect(await attemptsOf(db, String(id))).toEqual(["lost", "succeeded"]);
});

test("twenty workers fire each due time once, even when the database restarts", async ({
  server,
  ownDb: db,
  ownForge: forge,
}) => {
  const keys = ["a", "b", "c", "d", "e"];
  // On a busy machine a run may take longer than a second, which must not skip the next one.
  const everySecond = { ...ofT, every: "1s", missed: "all", overlap: "allow" } as const;
  for (const key of keys) await forge.schedules.ensure(beat, key, everySecond);
  await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      startWorker(forge, { concurrency: 2, listen: n % 4 === 0, handlers: [beat.handle(() => undefined)] }),
    ),
  );
  const ended = "select count(*)::int from jobforge_jobs where status = 'succeeded'";
  await until(async () => (await db.value<number>(ended)) >= 10);
  await server.stop();
  await server.start();
  await using again = await db.connect();
  const before = await again.value<number>(ended);
  await until(async () => (await again.value<number>(ended)) >= before + 20);
  const rows = await again.query<{ key: string; due: Date[] }>(
    `select s.key, array_agg(j.scheduled_for order by j.scheduled_for) as due
     from jobforge_jobs j
     join jobforge_schedules s on s.id = j.schedule_id
     group by s.key
     order by s.key`,
  );
  expect(rows.map(({ key }) => key)).toEqual(keys);
  for (const { key, due } of rows) {
    const first = due[0]?.getTime() ?? 0;
    expect(
      due.map((time) => time.getTime() - first),
      key,
    ).toEqual(due.map((_, n) => n * 1000));
  }
});
