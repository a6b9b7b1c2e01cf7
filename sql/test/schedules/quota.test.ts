/** Quotas and schedules: how many runs and how many schedules a tenant may have. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claim, complete, enqueue, enqueueMany, expectError, type Sql, T, U } from "../support/kernel.ts";
import { ensure, type Schedule } from "../support/schedules.ts";
import { boundLogin } from "../support/tenants.ts";

async function setTenant(db: Sql, settings: unknown, tenant = T): Promise<void> {
  await db.query("select jobforge_set_tenant($1, $2)", [tenant, JSON.stringify(settings)]);
}

async function pending(db: Sql, tenant = T): Promise<number> {
  return await db.value<number>("select count(*)::int from jobforge.live_rows where tenant_id = $1", [
    tenant,
  ]);
}

async function schedule(db: Sql, key: string): Promise<Schedule> {
  const [row] = await db.query<Schedule>("select * from jobforge_schedules where key = $1", [key]);
  return row ?? expect.fail(`no schedule ${key}`);
}

const tooMany = /^Job limit exceeded for tenant: max_pending leaves no room for a run$/;
/** No worker handles the type of these claims' jobs, so runs of schedules stay queued. */
const fireOnly = async (db: Sql): Promise<unknown> => await claim(db, "w1", { types: ["fetch"], limit: 1 });

test("the runs of many schedules never exceed the quota, however many due times they have missed", async ({
  db,
}) => {
  await setTenant(db, { max_pending: 3 });
  for (let each = 0; each < 20; each += 1)
    await ensure(
      db,
      { cron: "* * * * * *", missed: "all", overlap: "allow", next_run_at: "2020-01-01T00:00:00Z" },
      { key: `k${each}` },
    );
  for (let each = 0; each < 12; each += 1) {
    await fireOnly(db);
    expect(await pending(db)).toBeLessThanOrEqual(3);
  }
  expect(await pending(db)).toBe(3);
  const errors = await db.query<{ last_error: string | null }>("select last_error from jobforge_schedules");
  expect(errors.filter(({ last_error }) => last_error?.match(tooMany)).length).toBeGreaterThan(15);
});

test("a run without room is put off for a minute and then made once; other tenants' schedules run", async ({
  db,
}) => {
  await setTenant(db, { max_pending: 1 });
  const { id } = await enqueue(db, { type: "other" });
  await ensure(db, { every: "10 seconds" });
  await ensure(db, { every: "10 seconds" }, { tenant: U, key: "theirs" });
  expect(await claim(db, "w1", { types: ["fetch"] })).toMatchObject([{ tenant_id: U }]);
  expect(await schedule(db, "feed")).toMatchObject({
    enabled: true,
    last_error: expect.stringMatching(tooMany),
    consecutive_failures: 0,
  });
  const due = (): Promise<boolean> =>
    db.value<boolean>("select due_at <= jobforge.now() from jobforge.schedules where key = 'feed'");
  expect(await due(), "it is not tried again with every claim").toBe(false);
  await claim(db, "w2", { types: ["other"] });
  await complete(db, id, { worker: "w2" });
  await db.travel("61 seconds");
  const [run, ...more] = await claim(db, "w1", { types: ["fetch"], tenant_id: T });
  expect(more).toEqual([]);
  await complete(db, run?.id ?? "");
  expect(await schedule(db, "feed")).toMatchObject({ last_error: null, last_status: "succeeded" });
});

test("a schedule that skips missed runs keeps its rhythm without the run", async ({ db }) => {
  await setTenant(db, { max_pending: 0 });
  await ensure(db, { every: "1 hour", missed: "skip" });
  const before = await schedule(db, "feed");
  await fireOnly(db);
  const after = await schedule(db, "feed");
  expect(after.last_error).toMatch(tooMany);
  expect(Number(after.next_run_at)).toBeGreaterThan(Number(before.next_run_at));
  expect(await pending(db)).toBe(0);
});

test("a dynamic schedule and a requested run are not forgotten while there is no room", async ({ db }) => {
  await setTenant(db, { max_pending: 0 });
  await ensure(db, { dynamic: true, next_run_at: "2020-01-01T00:00:00Z" });
  await ensure(db, { every: "1 day", anchor: "2020-01-01T00:00:00Z", enabled: false }, { key: "asked" });
  await db.query("select jobforge_run_schedule($1, 'fetch', 'asked')", [T]);
  await fireOnly(db);
  expect(await pending(db)).toBe(0);
  expect(await schedule(db, "asked")).toMatchObject({ run_requested: true });
  await setTenant(db, { max_pending: 5 });
  await db.travel("2 minutes");
  expect(await claim(db, "w1", { types: ["fetch"] })).toHaveLength(2);
  expect(await schedule(db, "asked")).toMatchObject({ run_requested: false });
});

test("a schedule whose run is live is not called full", async ({ db }) => {
  await setTenant(db, { max_pending: 1 });
  await ensure(db, { every: "10 seconds" });
  await fireOnly(db);
  await db.travel("30 seconds");
  await fireOnly(db);
  expect(await schedule(db, "feed")).toMatchObject({ last_error: null, live_runs: 1 });
});

test("a tenant may have as many schedules as its setting says, for every caller", async ({ db }) => {
  await setTenant(db, { max_schedules: 2 });
  const tenant = await boundLogin(db, T, "jobforge_tenant");
  for (const key of ["a", "b"]) await ensure(tenant, undefined, { key });
  const error = await expectError(ensure(tenant, undefined, { key: "c" }), "JF007");
  expect(error).toMatchObject({
    name: "schedule_limit_exceeded",
    hint: expect.stringContaining("2 schedules"),
  });
  await expectError(ensure(db, undefined, { key: "c" }), "JF007");
  await expectError(
    tenant.query("select jobforge_sync_schedules('app', $1, $2)", [
      JSON.stringify([{ type: "fetch", key: "d", dynamic: true }]),
      T,
    ]),
    "JF007",
  );
  expect(await ensure(tenant, undefined, { key: "a" }), "an existing one").toMatchObject({
    outcome: "existing",
  });
  await tenant.query("select jobforge_delete_schedule($1, 'fetch', 'a')", [T]);
  expect(await ensure(tenant, undefined, { key: "c" })).toMatchObject({ outcome: "created" });
  expect(await ensure(db, undefined, { tenant: U, key: "c" })).toMatchObject({ outcome: "created" });
});

test("without a setting, ten thousand is the most for the tenant's own callers", async ({ db }) => {
  await db.query(
    `insert into jobforge.schedules (id, tenant_id, type, key, kind, enabled, overlap, missed, missed_limit, retry_runs,
       priority, payload, tags, created_at, updated_at)
     select gen_random_uuid(), $1, 'fetch', 'k' || n, 'dynamic', false, 'skip', 'once', 1, false, 0, '{}', '{}', now(),
       now()
     from generate_series(1, 10000) n`,
    [T],
  );
  const tenant = await boundLogin(db, T, "jobforge_tenant");
  await expectError(ensure(tenant, undefined, { key: "one more" }), "JF007");
  const bound = await boundLogin(db, T, "jobforge_worker");
  await expectError(ensure(bound, undefined, { key: "one more" }), "JF007");
  expect(await ensure(db, undefined, { key: "one more" })).toMatchObject({ outcome: "created" });
  await setTenant(db, { max_schedules: 20_000 });
  expect(await ensure(tenant, undefined, { key: "another" })).toMatchObject({ outcome: "created" });
});

test("without quotas, firing reads no counts", async ({ db }) => {
  await enqueueMany(db, 3, { type: "other" });
  await ensure(db, { every: "10 seconds" });
  expect(await claim(db, "w1", { types: ["fetch"] })).toHaveLength(1);
  expect(await db.value("select count(*)::int from jobforge.pending_deltas")).toBe(0);
});
