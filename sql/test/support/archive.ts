/** Helpers for the archive and its leaves, for the tests of retention. */
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

/** A payload that is stored in jobforge.payloads, because it does not compress well. */
export const largePayload = {
  text: Array.from({ length: 300 }, (_, n) => (n * 7919).toString(36)).join("-"),
};

/** The result of one maintenance call. */
export type Maintained = {
  promoted: number;
  flowing: boolean;
  forgotten?: number;
  retired?: number;
  leaves?: number;
};

/** Does a slice of maintenance and returns what was done. */
export async function maintain(db: Sql, limit = 1000): Promise<Maintained> {
  return await db.value<Maintained>("select jobforge_maintain($1)", [limit]);
}

/** Runs maintenance until all shelves and leaves exist. One call creates those of one shelf. */
export async function makeLeaves(db: Sql): Promise<void> {
  for (let round = 0; round < 50; round += 1) if ((await maintain(db)).leaves === 0) return;
  expect.fail("maintenance does not stop creating leaves");
}

/** Runs maintenance until nothing is due. Fails if this does not end. */
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

/** Returns all leaves. */
export async function leaves(db: Sql): Promise<Leaf[]> {
  return await db.query<Leaf>(
    "select name, branch, keep_days, from_at, to_at from jobforge.leaves order by branch, keep_days, from_at",
  );
}

/** Returns the leaves whose jobs are all older than their retention. */
async function dueLeaves(db: Sql): Promise<Leaf[]> {
  return await db.query<Leaf>(
    `select * from jobforge.leaves where to_at + keep_days * interval '1 day' <= ${nowSql}`,
  );
}

/** Returns the table that holds a finished job, and its retention. */
export async function placeOf(db: Sql, id: string): Promise<{ table: string; keep_days: number }> {
  const rows = await db.query<{ table: string; keep_days: number }>(
    "select c.relname as table, a.keep_days from jobforge.archive a join pg_class c on c.oid = a.tableoid where a.id = $1",
    [id],
  );
  expect(rows, `job ${id} in the archive`).toHaveLength(1);
  return rows[0] as { table: string; keep_days: number };
}

/** Returns the leaf that holds a finished job. Fails the test if the job is in a default leaf. */
export async function leafOf(db: Sql, id: string): Promise<Leaf> {
  const { table } = await placeOf(db, id);
  const leaf = (await leaves(db)).find(({ name }) => name === table);
  return leaf ?? expect.fail(`${table} is not a leaf that maintenance created`);
}

/** Moves the clock to a time, given as an SQL expression. */
export async function travelTo(db: Sql, time: string, values: readonly unknown[] = []): Promise<void> {
  await db.query(
    `select set_config('jobforge.clock_offset', (${time} - clock_timestamp())::text, false)`,
    values,
  );
}

/** Moves the clock to `past` after the time when a leaf is due to be dropped. */
export async function travelToRetirement(db: Sql, leaf: Leaf, past = "1 second"): Promise<void> {
  await travelTo(db, "$1::timestamptz + $2 * interval '1 day' + $3::interval", [
    leaf.to_at,
    leaf.keep_days,
    past,
  ]);
}

/** Enqueues a job, claims it as the only due job of its type, and ends it. 'dead' is a failure of the last attempt. */
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

/** Runs a job with traces in other tables: a key, a large payload and an earlier attempt. */
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

/** Returns how many keys, large payloads and earlier attempts the jobs still have. */
export async function tracesOf(db: Sql, ids: readonly string[]) {
  return await db.value<{ keys: number; payloads: number; attempts: number }>(
    `select jsonb_build_object(
       'keys', (select count(*) from jobforge.job_keys where job_id = any ($1::uuid[])),
       'payloads', (select count(*) from jobforge.payloads where job_id = any ($1::uuid[])),
       'attempts', (select count(*) from jobforge.attempts where job_id = any ($1::uuid[])))`,
    [ids],
  );
}

/** Returns the ids of the jobs that still exist. */
export async function remembered(db: Sql, ids: readonly string[]): Promise<string[]> {
  const rows = await db.query<{ id: string }>("select id from jobforge_jobs where id = any ($1::uuid[])", [
    ids,
  ]);
  const known = new Set(rows.map((row) => row.id));
  return ids.filter((id) => known.has(id));
}

/** Runs jobs of the type 'short', which are kept for a day. They are due for deletion after two days. */
export async function finishedToday(db: Sql, count: number): Promise<string[]> {
  await setPolicy(db, "short", { retention_days: 1 });
  await makeLeaves(db);
  const ids: string[] = [];
  for (let i = 0; i < count; i += 1) {
    ids.push(await runWithTraces(db, { type: "short", idempotency_key: `old ${i}` }));
  }
  return ids;
}
