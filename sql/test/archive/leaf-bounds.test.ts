/** The bounds of leaves do not depend on the settings of the worker that makes them, and never fail a heartbeat. */
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { leaves, makeLeaves } from "../support/archive.ts";
import type { Sql } from "../support/kernel.ts";

const settings: readonly (readonly [timezone: string, datestyle: string])[] = [
  ["<Z>5", "ISO, MDY"],
  ["UTC5", "ISO, MDY"],
  ["UTC-5", "SQL, DMY"],
  ["Asia/Kolkata", "SQL, DMY"],
  ["America/New_York", "Postgres, DMY"],
];

async function set(db: Sql, timezone: string, datestyle: string): Promise<void> {
  await db.query("select set_config('timezone', $1, false), set_config('datestyle', $2, false)", [
    timezone,
    datestyle,
  ]);
}

/** The partitions whose bounds in the catalog do not start and end at midnight in UTC. */
async function oddBounds(db: Sql): Promise<unknown[]> {
  return await db.query(
    `select c.relname, pg_get_expr(c.relpartbound, c.oid) as bounds
     from pg_class c
     where c.relispartition and pg_get_expr(c.relpartbound, c.oid) like 'FOR VALUES FROM%'
       and pg_get_expr(c.relpartbound, c.oid)
         !~ '^FOR VALUES FROM \\(''[0-9-]+ 00:00:00\\+00''\\) TO \\(''[0-9-]+ 00:00:00\\+00''\\)$'`,
  );
}

describe.each(settings)("a worker with the time zone %s and the date style %s", (timezone, datestyle) => {
  test("makes the leaves that every other worker makes", async ({ db }) => {
    await db.query("set timezone = 'UTC'");
    const worker = await db.connect((await db.createLogin("jobforge_worker")).url);
    await set(worker, timezone, datestyle);
    await worker.travel("6 days");
    await makeLeaves(worker);
    expect(await oddBounds(db)).toEqual([]);
    // Every other worker, six days later.
    const other = await db.connect((await db.createLogin("jobforge_worker")).url);
    await other.travel("12 days");
    await other.query("select jobforge_heartbeat_worker('w', '{}')");
    await makeLeaves(other);
    expect(await oddBounds(db)).toEqual([]);
    const made = (await leaves(db)).filter((leaf) => leaf.branch === "finished_jobs");
    for (const [place, leaf] of made.entries())
      if (place > 0) expect(leaf.from_at).toEqual(made[place - 1]?.to_at);
  });

  test("as the owner makes the same ones", async ({ db }) => {
    const owner = await db.connect();
    await set(owner, timezone, datestyle);
    // Around the days on which summer time begins and ends in New York, which have 23 and 25 hours.
    for (const day of ["2031-01-08", "2031-03-08", "2031-11-01"])
      await owner.query("select jobforge.maintain_leaves($1)", [`${day}T12:00:00+00:00`]);
    await db.query("set timezone = 'UTC'");
    expect(await oddBounds(db)).toEqual([]);
  });
});

describe("a partition in the way of a leaf", () => {
  test.for([true, false])("is left, and no worker fails (JobForge knows it: %s)", async (known, { db }) => {
    await db.query("set timezone = 'UTC'");
    const ahead = (await leaves(db)).filter((leaf) => leaf.branch === "finished_jobs").at(-1);
    const from = new Date((ahead?.to_at.getTime() ?? 0) + 5 * 3_600_000).toISOString();
    const to = new Date((ahead?.to_at.getTime() ?? 0) + 6 * 86_400_000 + 5 * 3_600_000).toISOString();
    await db.query(
      `create table jobforge.finished_jobs_30_odd partition of jobforge.finished_jobs_30 for values from ('${from}') to ('${to}')`,
    );
    if (known)
      await db.query(
        `insert into jobforge.leaves (name, branch, keep_days, from_at, to_at)
         values ('finished_jobs_30_odd', 'finished_jobs', 30, $1, $2)`,
        [from, to],
      );
    const worker = await db.connect();
    for (const days of [6, 12, 18]) {
      await worker.travel(`${days} days`);
      await worker.query("select jobforge_heartbeat_worker('w', '{}')");
      await makeLeaves(worker);
    }
    const later = (await leaves(db)).filter(
      (leaf) => leaf.branch === "finished_jobs" && leaf.from_at >= new Date(to),
    );
    expect(later.length).toBeGreaterThan(0);
  });
});
