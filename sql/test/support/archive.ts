/** The leaves of the archive, as the tests of retention look at them. */
import { expect } from "vitest";
import {
  claim,
  complete,
  type Enqueued,
  enqueue,
  fail,
  type NewJob,
  nowSql,
  type Sql,
  setPolicy,
} from "./kernel.ts";

export type Leaf = {
  name: string;
  branch: "finished_jobs" | "dead_jobs";
  keep_days: number;
  from_at: Date;
  to_at: Date;
};

/** A payload that lives in jobforge.payloads: it does not shrink when compressed. */
export const largePayload = {
  text: Array.from({ length: 300 }, (_, n) => (n * 7919).toString(36)).join("-"),
};

/** What one call of maintenance did. */
export type Maintained = {
  promoted: number;
  flowing: boolean;
  forgotten?: number;
  retired?: number;
  leaves?: number;
};

/** Does a slice of maintenance and answers what was done. */
export async function maintain(db: Sql, limit = 1000): Promise<Maintained> {
  return await db.value<Maintained>("select jobforge_maintain($1)", [limit]);
}

/** Does maintenance until all shelves and leaves are there: a call makes those of one shelf. */
export async function makeLeaves(db: Sql): Promise<void> {
  for (let round = 0; round < 50; round += 1) if ((await maintain(db)).leaves === 0) return;
  expect.fail("there are always more leaves to make");
}

/** Does maintenance until nothing that is due is left to do. Fails when that does not come to an end. */
export async function maintainAll(
  db: Sql,
  limit = 1000,
  onDone: (done: Maintained) => void = () => undefined,
): Promise<void> {
  for (let round = 0, quiet = 0; round < 200; round += 1) {
    const done = await maintain(db, limit);
    onDone(done);
    const { retired = 0, forgotten = 0 } = done;
    quiet = retired === 0 && forgotten === 0 && (await dueLeaves(db)).length === 0 ? quiet + 1 : 0;
    if (quiet === 2) return;
  }
  expect.fail(`still due: ${(await dueLeaves(db)).map((leaf) => leaf.name).join()}`);
}

/** The leaves there are. */
export async function leaves(db: Sql): Promise<Leaf[]> {
  return await db.query<Leaf>(
    "select name, branch, keep_days, from_at, to_at from jobforge.leaves order by branch, keep_days, from_at",
  );
}

/** The leaves whose jobs are all older than their time of keeping. */
async function dueLeaves(db: Sql): Promise<Leaf[]> {
  return await db.query<Leaf>(
    `select * from jobforge.leaves where to_at + keep_days * interval '1 day' <= ${nowSql}`,
  );
}

/** The table that holds an ended job, and its time of keeping. */
export async function placeOf(db: Sql, id: string): Promise<{ table: string; keep_days: number }> {
  const rows = await db.query<{ table: string; keep_days: number }>(
    "select c.relname as table, a.keep_days from jobforge.archive a join pg_class c on c.oid = a.tableoid where a.id = $1",
    [id],
  );
  expect(rows, `job ${id} in the archive`).toHaveLength(1);
  return rows[0] as { table: string; keep_days: number };
}

/** The leaf that holds an ended job. Fails the test when the job lies in a default leaf. */
export async function leafOf(db: Sql, id: string): Promise<Leaf> {
  const { table } = await placeOf(db, id);
  const leaf = (await leaves(db)).find(({ name }) => name === table);
  return leaf ?? expect.fail(`${table} is not a leaf that maintenance made`);
}

/** Moves the clock to a time, given as SQL. */
export async function travelTo(db: Sql, time: string, values: readonly unknown[] = []): Promise<void> {
  await db.query(
    `select set_config('jobforge.clock_offset', (${time} - clock_timestamp())::text, false)`,
    values,
  );
}

/** Moves the clock to when a leaf has just become due, or by so much past that. */
export async function travelToRetirement(db: Sql, leaf: Leaf, past = "1 second"): Promise<void> {
  await travelTo(db, "$1::timestamptz + $2 * interval '1 day' + $3::interval", [
    leaf.to_at,
    leaf.keep_days,
    past,
  ]);
}

/** Enqueues a job, claims it (it must be the only one due of its type) and ends it; 'dead' is a failure of the last attempt. */
export async function runJob(
  db: Sql,
  job: NewJob = {},
  end: "succeeded" | "failed" | "dead" = "succeeded",
): Promise<Enqueued> {
  const enqueued = await enqueue(db, end === "dead" ? { max_attempts: 1, ...job } : job);
  const [claimed] = await claim(db, "w1", { limit: 1, types: [enqueued.type] });
  expect(claimed?.id).toBe(enqueued.id);
  if (end === "succeeded") await complete(db, enqueued.id);
  else await fail(db, enqueued.id, end === "failed" ? { retry: false } : {});
  return enqueued;
}

/** Runs a job that leaves every trace there is: a key, a large payload and an earlier attempt. */
export async function runWithTraces(
  db: Sql,
  job: NewJob & { idempotency_key: string },
  end: "succeeded" | "dead" = "succeeded",
): Promise<string> {
  const { id, type } = await enqueue(db, { payload: largePayload, max_attempts: 2, ...job });
  await claim(db, "w1", { limit: 1, types: [type] });
  await fail(db, id, { retry_at: new Date(0) });
  const [again] = await claim(db, "w1", { limit: 1, types: [type] });
  expect(again?.id).toBe(id);
  if (end === "succeeded") await complete(db, id);
  else await fail(db, id);
  return id;
}

/** How many keys, large payloads and earlier attempts are left of jobs. */
export async function tracesOf(db: Sql, ids: readonly string[]) {
  return await db.value<{ keys: number; payloads: number; attempts: number }>(
    `select jsonb_build_object(
       'keys', (select count(*) from jobforge.job_keys where job_id = any ($1::uuid[])),
       'payloads', (select count(*) from jobforge.payloads where job_id = any ($1::uuid[])),
       'attempts', (select count(*) from jobforge.attempts where job_id = any ($1::uuid[])))`,
    [ids],
  );
}

/** The ids of those jobs that are still remembered. */
export async function remembered(db: Sql, ids: readonly string[]): Promise<string[]> {
  const rows = await db.query<{ id: string }>("select id from jobforge_jobs where id = any ($1::uuid[])", [
    ids,
  ]);
  const known = new Set(rows.map((row) => row.id));
  return ids.filter((id) => known.has(id));
}

/** Jobs of the type 'short', kept for a day, that ended now: due for maintenance from two days on. */
export async function endedToday(db: Sql, count: number): Promise<string[]> {
  await setPolicy(db, "short", { retention_days: 1 });
  await makeLeaves(db);
  const ids: string[] = [];
  for (let i = 0; i < count; i += 1) {
    ids.push(await runWithTraces(db, { type: "short", idempotency_key: `old ${i}` }));
  }
  return ids;
}
