/** A maintenance task that fails stops neither the call that does it nor any other task, and is shown. */
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { makeLeaves } from "../support/archive.ts";
import { claim, complete, enqueue, type Sql, setPolicy, T, workerHeartbeat } from "../support/kernel.ts";

interface FailedTask {
  readonly failures: number;
  readonly failed_at: string;
  readonly error: string;
}

const failedTasks = (db: Sql): Promise<Record<string, FailedTask>> =>
  db.value("select jobforge_health() -> 'failed_tasks'");

/** The same without jobforge_health(), which needs all tables. */
const recordedFailures = (db: Sql): Promise<Record<string, FailedTask>> =>
  db.value("select jsonb_object_agg(m.task, to_jsonb(m)) from jobforge.maintenance m where m.failures > 0");

/** Lets every task run in a heartbeat, and checks that a worker can do everything that it does. */
async function work(db: Sql): Promise<void> {
  await workerHeartbeat(db, "w", { held: [] });
  const { id } = await enqueue(db, { type: "works" });
  expect((await claim(db, "w", { types: ["works"] })).map((job) => job.id)).toEqual([id]);
  // An empty claim does maintenance too.
  expect(await claim(db, "w", { types: ["none"] })).toEqual([]);
  await complete(db, id, { worker: "w" });
}

/** Makes every task due: there is a quota, and time has passed. */
async function makeDue(db: Sql, later: string): Promise<void> {
  await db.query("select jobforge_set_tenant($1, '{\"max_pending\": 1000}')", [T]);
  await db.travel(later);
}

/** Claims call these too where limits exist, so that they cannot do without them. */
const partsOfClaims = ["unpark_due", "count_early_runs"];

describe("a step that fails", () => {
  test("stops nothing else, whichever it is: health names it, and a success clears it", async ({ db }) => {
    const steps = await db.value<string[]>(
      `select array_agg(m[1])
       from regexp_matches(pg_get_functiondef('jobforge.run_step'::regproc), 'when ''(\\w+)''', 'g') m`,
    );
    expect(steps.length).toBeGreaterThanOrEqual(12);
    // The intervals of all tasks are shorter than this. It begins after midnight, because a new day makes new leaves,
    // and then the task after them has to wait for the next heartbeat.
    const interval = 11;
    let minutes = await db.value<number>(
      "select ceil(extract(epoch from date_trunc('day', now(), 'UTC') + interval '25 hours' - now()) / 60)::integer",
    );
    await db.travel(`${minutes} minutes`);
    await makeLeaves(db);
    for (const step of steps.filter((name) => !partsOfClaims.includes(name))) {
      const signature = await db.value<string>("select $1::regproc::regprocedure::text", [
        `jobforge.${step}`,
      ]);
      await db.query(`alter function ${signature} rename to moved_away`);
      for (const failures of [1, 2]) {
        minutes += interval;
        await makeDue(db, `${minutes} minutes`);
        await work(db);
        const failed = Object.values(await failedTasks(db));
        expect(failed, step).toHaveLength(1);
        expect(failed[0], step).toMatchObject({
          failures,
          error: expect.stringMatching(`^${step}: .* does not exist`),
        });
      }
      const { failed } = await db.value<{ failed: Record<string, string> }>("select jobforge_maintain()");
      expect(Object.values(failed), step).toEqual([expect.stringContaining(step)]);
      await db.query(`alter function jobforge.moved_away rename to ${step}`);
      minutes += interval;
      await makeDue(db, `${minutes} minutes`);
      await work(db);
      expect(await failedTasks(db), step).toEqual({});
      expect(await db.value("select jobforge_maintain()")).not.toHaveProperty("failed");
    }
  });

  test("leaves the other steps of its task in force", async ({ db }) => {
    const { id } = await enqueue(db);
    await claim(db, "silent");
    await db.query("alter function jobforge.apply_cancel_requests rename to moved_away");
    await db.query("alter function jobforge.expire rename to moved_away_too");
    await db.travel("1 hour");
    await workerHeartbeat(db, "w");
    expect((await claim(db, "w")).map((job) => job.id)).toEqual([id]);
    const { jobs } = await failedTasks(db);
    expect(jobs).toMatchObject({
      failures: 1,
      error: expect.stringMatching(/^apply_cancel_requests: .*; expire: /),
    });
  });
});

/** What may go wrong in a database, by the task that it breaks. */
const faults: Readonly<Record<string, { readonly task: string; readonly sql: string }>> = {
  "a partition that cannot be recorded": {
    task: "leaves",
    sql: `do $$ begin
        execute format('alter table jobforge.leaves add constraint planted check (from_at < %L)',
          (select max(to_at) from jobforge.leaves));
      end $$`,
  },
  "a table that is gone": { task: "usage", sql: "alter table jobforge.usage rename to gone" },
  "a row that violates a constraint": {
    task: "jobs",
    sql: "alter table jobforge.attempts add constraint planted check (status <> 'lost') not valid",
  },
  "a secret in the message": {
    task: "forget",
    sql: `create or replace function jobforge.forget(p_now timestamptz, p_limit integer) returns integer
      language plpgsql as $$ begin raise 'password=hunter2 %', repeat('x', 5000); end $$`,
  },
};

test.for(Object.keys(faults))("workers go on with %s", async (name, { db }) => {
  const { task, sql } = faults[name] ?? expect.fail(name);
  await setPolicy(db, "lost", { max_attempts: 5 });
  await enqueue(db, { type: "lost" });
  await claim(db, "silent", { types: ["lost"] });
  await db.query(sql);
  await db.travel("40 days");
  // Each heartbeat makes the partitions of one branch.
  for (let round = 0; round < 3; round += 1) await work(db);
  const failed = await recordedFailures(db);
  expect(Object.keys(failed)).toEqual([task]);
  expect(failed[task]?.error.length).toBeLessThan(400);
  expect(failed[task]?.error).not.toContain("hunter2");
});

test("a statement that is canceled is not a failed task", async ({ db }) => {
  await db.query(
    `create or replace function jobforge.forget(p_now timestamptz, p_limit integer) returns integer
     language plpgsql as $$ begin raise query_canceled; end $$`,
  );
  await expect(workerHeartbeat(db, "w")).rejects.toMatchObject({ code: "57014" });
  expect(await failedTasks(db)).toEqual({});
});
