/** Imports from the table of River. newest.test.ts does the same with River itself. */
import { describe, expect } from "vitest";
import { startJobforge } from "../child.ts";
import { T, test } from "../support.ts";
import { createRiver, importFrom, jobsOf, work } from "./support.ts";

describe("from River", () => {
  test("moves what waits, and priority 1 still comes first", async ({ db }) => {
    await createRiver(db);
    await db.query(`
      insert into river_job (kind, args, priority, max_attempts, attempt, state, scheduled_at, tags, unique_key,
        finalized_at)
      values
        ('sort', '{"n": 1}', 4, 25, 0, 'available', now(), '{a,b}', null, null),
        ('sort', '{"n": 2}', 1, 25, 0, 'available', now(), '{}', '\\xab01', null),
        ('sort', '{"n": 3}', 1, 25, 0, 'scheduled', '2100-01-01', '{}', null, null),
        ('sort', '{"n": 4}', 1, 25, 3, 'retryable', '2100-01-01', '{}', null, null),
        ('sort', '{"n": 5}', 1, 25, 0, 'pending', now(), '{}', null, null),
        ('sort', '{"n": 6}', 1, 25, 1, 'running', now(), '{}', null, null),
        ('sort', '{"n": 7}', 1, 25, 25, 'discarded', now(), '{}', null, now()),
        ('sort', '{"n": 8}', 1, 25, 1, 'completed', now(), '{}', null, now())`);
    const report = await importFrom(db, ["river"], 1);
    expect(report.types).toMatchObject([
      { waiting: 2, delayed: 1, retrying: 1, refused: 1, running: 1, failed: 1 },
    ]);
    expect(report.refused).toMatchObject([{ reason: "it waits for other jobs of a workflow", ids: ["5"] }]);
    expect(await jobsOf(db)).toMatchObject([
      {
        idempotency_key: expect.stringMatching(/^river-1-\d{16}$/),
        priority: -3,
        max_attempts: 25,
        tags: ["a", "b"],
        dedupe_key: null,
      },
      { idempotency_key: expect.stringMatching(/^river-2-\d{16}$/), priority: 0, dedupe_key: "river-ab01" },
      {
        idempotency_key: expect.stringMatching(/^river-3-\d{16}$/),
        run_at: new Date("2100-01-01T00:00:00Z"),
      },
      { idempotency_key: expect.stringMatching(/^river-4-\d{16}$/), max_attempts: 22 },
    ]);
    expect(await db.value("select array_agg(id::int order by id) from river_job")).toEqual([5, 6, 7, 8]);
    expect(await work(db, ["sort"])).toEqual([{ n: 2 }, { n: 1 }]);
  });

  test("a dry run changes nothing, --keep copies, and a second import finds the same jobs", async ({
    db,
  }) => {
    await createRiver(db);
    await db.query(`insert into river_job (kind, args) values ('sort', '{"n": 1}'), ('sort', '{"n": 2}')`);
    const there = "select count(*)::int from river_job";
    expect(await importFrom(db, ["river", "--dry-run"])).toMatchObject({ imported: 2 });
    expect([await jobsOf(db), await db.value(there)]).toEqual([[], 2]);
    expect(await importFrom(db, ["river", "--keep"])).toMatchObject({ imported: 2 });
    expect(await db.value(there)).toBe(2);
    expect(await importFrom(db, ["river"])).toMatchObject({ imported: 0, types: [{ existing: 2 }] });
    expect([(await jobsOf(db)).length, await db.value(there)]).toEqual([2, 0]);
  });

  test("the same number in another database is another job", async ({ db, empty }) => {
    for (const source of [db, empty]) {
      await createRiver(source);
      await source.query(`insert into river_job (kind, args) values ('n', '{}')`);
    }
    expect(await importFrom(db, ["river"])).toMatchObject({ imported: 1 });
    expect(await importFrom(db, ["river", "--from", empty.url])).toMatchObject({ imported: 1 });
    expect(await work(db, ["n"])).toHaveLength(2);
  });

  test("names and keys that JobForge refuses stay, and the others of their batch do not", async ({ db }) => {
    await createRiver(db);
    await db.query(`
      insert into river_job (kind, args, tags)
      values ('*', '{}', '{}'), (E'a\\tb', '{}', '{}'), ('ok', '{"n": 1}', '{}'), ('ok', '{}', '{""}'), ('ok', '{"n": 2}', '{}')`);
    const report = await importFrom(db, ["river", "--tenant", T], 1);
    expect(report.refused.map(({ reason, ids }) => `${ids} ${reason}`)).toEqual([
      expect.stringContaining('1 type must not be "*"'),
      expect.stringContaining("2 type must consist of letters, digits and _"),
      expect.stringContaining("4 tags must be"),
    ]);
    expect(await work(db, ["ok"])).toEqual([{ n: 1 }, { n: 2 }]);
    expect(await db.value("select array_agg(id::int order by id) from river_job")).toEqual([1, 2, 4]);
  });

  test("after a kill -9 between the two databases, a second import gives each job once", async ({
    db,
    empty,
  }) => {
    await createRiver(empty);
    await empty.query(
      "insert into river_job (kind, args) select 'n', jsonb_build_object('n', n) from generate_series(1, 50) n",
    );
    // The deletion of a job in the middle waits. At that moment its batch is enqueued, but not yet deleted.
    const holder = await empty.connect();
    await holder.query("select pg_advisory_lock(7)");
    await empty.query(`
      create function wait() returns trigger language plpgsql as $$
      begin
        perform pg_advisory_xact_lock(7);
        return old;
      end $$;
      create trigger wait before delete on river_job for each row when (old.id = 25) execute function wait()`);
    const args = ["import", "river", "--from", empty.url, "--tenant", T, "--batch", "10", "--yes"];
    const child = startJobforge(args, { cwd: "/tmp", env: { DATABASE_URL: db.url } });
    await expect.poll(() => db.value("select count(*)::int from jobforge_jobs")).toBe(30);
    child.process.kill("SIGKILL");
    await child.ended;
    await holder.query("select pg_advisory_unlock(7)");
    // The server notices the end of the import, and gives its rows back.
    const open =
      "select count(*)::int from pg_stat_activity where application_name = 'jobforge-import' and datname = current_database()";
    await expect.poll(() => empty.value(open)).toBe(0);
    expect(await empty.value("select count(*)::int from river_job")).toBe(30);
    expect(await importFrom(db, ["river", "--from", empty.url, "--tenant", T])).toMatchObject({
      imported: 20,
      types: [{ waiting: 30, existing: 10 }],
    });
    const ran = (await work(db, ["n"])) as { readonly n: number }[];
    expect(ran.map(({ n }) => n)).toEqual(Array.from({ length: 50 }, (_, n) => n + 1));
    expect(await empty.value("select count(*)::int from river_job")).toBe(0);
  });
});
