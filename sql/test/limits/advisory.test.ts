/** Advisory locks of any login delay nothing: Postgres has no rights for them, so the kernel uses none. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claimIds, complete, enqueueAll, impatient, type NewJob, T } from "../support/kernel.ts";
import { removeLimit, type Scope, setLimit } from "../support/limits.ts";

const job: NewJob = { concurrency_key: "k" };

test("no function of the kernel uses an advisory lock", async ({ db }) => {
  const users = await db.query(
    `select p.oid::regprocedure as function
     from pg_proc p
     where (p.pronamespace = 'jobforge'::regnamespace or p.proname like 'jobforge\\_%') and p.prosrc ~* 'advisory'`,
  );
  expect(users).toEqual([]);
});

test.for<[kind: string, lock: string]>([
  ["shared", "pg_advisory_lock_shared"],
  ["exclusive", "pg_advisory_lock"],
])(
  "a login without rights that holds every lock it can guess, %s, delays no limited job and no operator",
  async ([, lock], { db }) => {
    const limits: [scope: Scope, key: string][] = [
      ["type", "a"],
      ["tenant", T],
      ["type_tenant", "a:*"],
      ["key", "*"],
    ];
    for (const [scope, key] of limits) await setLimit(db, scope, key, { max: 1 });
    const [first, second] = await enqueueAll(db, [job, job]);
    const stranger = await db.connect((await db.createLogin()).url);
    await stranger.query(`select count(${lock}(1246119507, n)) from generate_series(0, 4096) n`);
    await stranger.query(`select ${lock}(hashtextextended('jobforge.limits', 0))`);
    const worker = await impatient(db);
    expect(await claimIds(worker)).toEqual([first]);
    await complete(worker, first);
    expect(await claimIds(worker)).toEqual([second]);
    expect(await setLimit(worker, "type", "a", { max: 2 })).toMatchObject({ max_running: 2 });
    expect(await removeLimit(worker, "type", "a")).toMatchObject({ removed: true });
  },
);

test("claims and ends of runs leave no dead rows in the tables of locks", async ({ db }) => {
  await setLimit(db, "type", "*", { max: 5 });
  await setLimit(db, "key", "*", { max: 2 });
  // A row that is changed gets another place.
  const places = (): Promise<unknown> =>
    db.query(
      `select 'bucket' as kind, no::text, ctid::text as place from jobforge.bucket_locks
       union all select 'type', no::text, ctid::text from jobforge.type_locks
       union all select 'task', task, ctid::text from jobforge.limit_tasks
       order by 1, 2`,
    );
  const before = await places();
  for (const id of await enqueueAll(db, [job, job, job, job])) {
    expect(await claimIds(db, "w1", { limit: 1 })).toEqual([id]);
    await complete(db, id);
  }
  expect(await places()).toEqual(before);
});
