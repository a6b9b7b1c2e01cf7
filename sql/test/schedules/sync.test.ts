/**
 * jobforge_sync_schedules: an application's schedules become what its code declares, whichever process starts first.
 * Other schedules are not changed.
 */
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claim, connections, expectError, type Sql, T } from "../support/kernel.ts";
import { claimRun, ensure, schedule, steer, update } from "../support/schedules.ts";

const U = "22222222-2222-4222-8222-222222222222";

type SyncResult = {
  tenant_id: string;
  type: string;
  key: string;
  action: "created" | "changed" | "unchanged" | "disabled";
  changes: { key: string; from: unknown; to: unknown }[];
  next_run_at: string | null;
};

interface SyncOptions {
  app?: string | null;
  tenant?: string | null;
  dryRun?: boolean;
}

async function sync(
  db: Sql,
  schedules: unknown,
  { app = "reader", tenant = null, dryRun = false }: SyncOptions = {},
): Promise<SyncResult[]> {
  return await db.value<SyncResult[]>("select jobforge_sync_schedules($1, $2, $3, $4)", [
    app,
    JSON.stringify(schedules),
    tenant,
    dryRun,
  ]);
}

const nightly = { tenant_id: T, type: "fetch", key: "feed", cron: "0 4 * * *" };
const hourly = { tenant_id: T, type: "fetch", key: "hourly", every: "1h" };

const actions = (answers: readonly SyncResult[]): string[] =>
  answers.map(({ key, action }) => `${key} ${action}`);

const table = (db: Sql): Promise<unknown[]> =>
  db.query("select s.*, xmin::text, ctid::text from jobforge.schedules s order by type, key");

describe("a declared schedule", () => {
  test("is created, changed with the difference shown, and not written if it is already as declared", async ({
    db,
  }) => {
    expect(actions(await sync(db, [hourly, nightly]))).toEqual(["feed created", "hourly created"]);
    const before = await table(db);
    expect(await sync(db, [hourly, nightly])).toMatchObject([
      { key: "feed", action: "unchanged", changes: [] },
      { key: "hourly", action: "unchanged", changes: [] },
    ]);
    expect(await table(db)).toEqual(before);
    const answers = await sync(db, [{ ...nightly, cron: "0 5 * * *", payload: { full: true } }, hourly]);
    expect(answers).toMatchObject([
      {
        key: "feed",
        action: "changed",
        changes: [
          { key: "cron", from: "0 4 * * *", to: "0 5 * * *" },
          { key: "next_run_at", from: expect.any(String), to: expect.any(String) },
          { key: "payload", from: {}, to: { full: true } },
        ],
      },
      { key: "hourly", action: "unchanged" },
    ]);
    expect(await schedule(db)).toMatchObject({ cron: "0 5 * * *", declared_by: "reader" });
  });

  test("is disabled when it is no longer declared, and enabled when it is declared again", async ({ db }) => {
    await sync(db, [nightly, hourly]);
    expect(await sync(db, [hourly])).toMatchObject([
      {
        key: "feed",
        action: "disabled",
        changes: [
          { key: "enabled", from: true, to: false },
          { key: "declared_by", from: "reader", to: null },
        ],
      },
      { key: "hourly", action: "unchanged" },
    ]);
    expect(await schedule(db)).toMatchObject({ enabled: false, declared_by: null });
    expect(actions(await sync(db, [hourly]))).toEqual(["hourly unchanged"]);
    expect(actions(await sync(db, [nightly, hourly]))).toEqual(["feed changed", "hourly unchanged"]);
    expect(await schedule(db)).toMatchObject({ enabled: true, declared_by: "reader" });
    expect(actions(await sync(db, []))).toEqual(["feed disabled", "hourly disabled"]);
  });

  test("stays disabled if an operator disabled it, unless the declaration enables it", async ({ db }) => {
    await sync(db, [nightly]);
    await steer(db, "disable");
    expect(actions(await sync(db, [nightly]))).toEqual(["feed unchanged"]);
    expect(actions(await sync(db, []))).toEqual([]);
    expect(actions(await sync(db, [nightly]))).toEqual(["feed unchanged"]);
    expect(await schedule(db)).toMatchObject({ enabled: false });
    expect(actions(await sync(db, [{ ...nightly, enabled: true }]))).toEqual(["feed changed"]);
    // The code no longer declares it, but an operator enables it.
    await sync(db, []);
    await steer(db, "enable");
    expect(await sync(db, [])).toEqual([]);
    expect(await schedule(db)).toMatchObject({ enabled: true });
  });

  test("is shown by a dry run, which writes nothing", async ({ db }) => {
    await sync(db, [nightly, { ...hourly, key: "old" }]);
    const before = await table(db);
    const audit = "select count(*)::int from jobforge.audit_log";
    const entries = await db.value(audit);
    const wanted = [{ ...nightly, cron: "@daily" }, hourly];
    const planned = await sync(db, wanted, { dryRun: true });
    expect(actions(planned)).toEqual(["feed changed", "hourly created", "old disabled"]);
    expect(await table(db)).toEqual(before);
    expect(await db.value(audit)).toBe(entries);
    expect(actions(await sync(db, wanted))).toEqual(actions(planned));
  });

  test("that is removed takes its waiting run out of the queue, and lets a started run end", async ({
    db,
  }) => {
    const now = { ...hourly, overlap: "skip" };
    await sync(db, [now, { ...now, key: "waits" }]);
    const run = (await claim(db, "w1", { limit: 1 }))[0];
    await sync(db, []);
    expect(await claim(db, "w1", { limit: 10 })).toEqual([]);
    expect(
      await db.value("select jobforge_complete_job($1, 'w1', 'succeeded') ->> 'status'", [run?.id]),
    ).toBe("succeeded");
  });
});

describe("the owner of a schedule", () => {
  test("is respected: schedules of other applications and those created at run time do not change", async ({
    db,
  }) => {
    await sync(db, [nightly]);
    await sync(db, [hourly], { app: "mailer" });
    await ensure(db, { dynamic: true }, { key: "feed-1" });
    expect(await sync(db, [], { app: "third" })).toEqual([]);
    expect(actions(await sync(db, [], { app: "mailer" }))).toEqual(["hourly disabled"]);
    expect(await schedule(db)).toMatchObject({ enabled: true });
    expect(await schedule(db, { key: "feed-1" })).toMatchObject({ enabled: true, declared_by: null });
  });

  test("changes when another application declares it, and the next run stays", async ({ db }) => {
    await sync(db, [nightly]);
    const { next_run_at } = await schedule(db);
    const [moved] = await sync(db, [nightly], { app: "mailer" });
    expect(moved?.changes).toEqual([{ key: "declared_by", from: "reader", to: "mailer" }]);
    expect(await sync(db, [])).toEqual([]);
    expect(await schedule(db)).toMatchObject({ enabled: true, next_run_at, declared_by: "mailer" });
  });

  test("is set when an application declares a schedule that was created at run time, and it is enabled", async ({
    db,
  }) => {
    await ensure(db, { cron: "0 4 * * *" });
    await steer(db, "disable");
    expect(actions(await sync(db, [nightly]))).toEqual(["feed changed"]);
    expect(await schedule(db)).toMatchObject({ enabled: true, declared_by: "reader" });
    await ensure(db, { cron: "0 4 * * *", priority: 2 });
    await update(db, { priority: 3 });
    expect(await schedule(db)).toMatchObject({ declared_by: "reader", priority: 3 });
  });

  test("is checked: a tenant synchronizes its own schedules, and an operator those of all tenants", async ({
    db,
  }) => {
    const tenant = await db.createLogin("jobforge_tenant");
    await db.query("select jobforge_bind_role($1, $2)", [tenant.role, T]);
    const worker = await db.createLogin("jobforge_worker");
    await sync(db, [{ ...nightly, tenant_id: U }]);
    const bound = await db.connect(tenant.url);
    const { tenant_id: _, ...mine } = nightly;
    expect(actions(await sync(bound, [mine], { tenant: T }))).toEqual(["feed created"]);
    await expectError(sync(bound, [mine]), "42501");
    await expectError(sync(bound, [mine], { tenant: U }), "42501");
    await expectError(
      sync(bound, [{ ...nightly, tenant_id: U }], { tenant: T }),
      "JF009",
      "schedules[0].tenant_id",
    );
    const unbound = await db.connect(worker.url);
    expect(actions(await sync(unbound, [mine], { tenant: T }))).toEqual(["feed unchanged"]);
    await expectError(sync(unbound, [nightly]), "42501");
    expect(actions(await sync(bound, [], { tenant: T }))).toEqual(["feed disabled"]);
    expect(await schedule(db, { tenant: U })).toMatchObject({ enabled: true });
  });
});

describe("many processes", () => {
  test("that start at the same time create one row for each schedule", async ({ db }) => {
    const declared = Array.from({ length: 20 }, (_, n) => ({ ...nightly, key: `k${n}` }));
    const processes = await connections(db, 8);
    const answers = await Promise.all(
      processes.map((process, n) => sync(process, n % 2 === 0 ? declared : declared.toReversed())),
    );
    expect(answers.flat().filter(({ action }) => action === "created")).toHaveLength(20);
    expect(answers.flat().filter(({ action }) => action === "unchanged")).toHaveLength(140);
    expect(await db.value("select count(*)::int from jobforge.schedules")).toBe(20);
  });

  test("of an old and a new version never deadlock", async ({ db }) => {
    const old = Array.from({ length: 12 }, (_, n) => ({ ...nightly, key: `k${n}` }));
    const young = old.map(({ key, ...rest }, n) => ({
      ...rest,
      key: n % 2 === 0 ? key : `new-${n}`,
      priority: 1,
    }));
    const processes = await connections(db, 6);
    for (let round = 0; round < 5; round += 1)
      await Promise.all(processes.map((process, n) => sync(process, n % 2 === 0 ? old : young)));
    await sync(db, young);
    const enabled = await db.query<{ key: string }>(
      "select key from jobforge.schedules where enabled order by key",
    );
    expect(enabled.map(({ key }) => key)).toEqual(young.map(({ key }) => key).sort());
  });

  test("do not wait for a transaction that holds a schedule, if all schedules are as declared", async ({
    db,
  }) => {
    await sync(db, [nightly, hourly]);
    const holder = await db.connect();
    await holder.query("begin");
    await steer(holder, "lock");
    expect(actions(await sync(db, [nightly, hourly]))).toEqual(["feed unchanged", "hourly unchanged"]);
    await holder.query("rollback");
    await claimRun(db, "w1", ["fetch"]);
  });
});

describe("an invalid declaration", () => {
  test.for<[string, unknown, SyncOptions, string, string]>([
    ["a list that is not an array", {}, {}, "JF009", "schedules"],
    ["a schedule that is not an object", [1], {}, "JF009", "schedules"],
    [
      "an invalid cron expression",
      [hourly, { ...nightly, cron: "0 0 30 2 *" }],
      {},
      "JF009",
      "schedules[1].cron",
    ],
    ["an unknown option", [{ ...nightly, cronn: "x" }], {}, "JF009", "schedules[0].cronn"],
    [
      "the same schedule twice",
      [nightly, { ...nightly, tenant_id: T.toUpperCase() }],
      {},
      "JF009",
      "schedules",
    ],
    ["a next run", [{ ...nightly, next_run_at: "2100-01-01" }], {}, "JF009", "schedules[0].next_run_at"],
    ["a reset", [{ ...nightly, reset: true }], {}, "JF009", "schedules[0].reset"],
    ["no key", [{ ...nightly, key: null }], {}, "JF002", "schedules[0].key"],
    ["no tenant", [{ type: "fetch", key: "feed", every: "1h" }], {}, "JF001", "schedules[0].tenant_id"],
    ["an invalid tenant", [{ ...nightly, tenant_id: "x" }], { tenant: T }, "JF001", "schedules[0].tenant_id"],
    ["no application", [nightly], { app: null }, "JF002", "app"],
    ["an empty application", [nightly], { app: "" }, "JF002", "app"],
    ["a list that is too long", Array(1001).fill(nightly), {}, "JF009", "schedules"],
  ])("%s is refused, and nothing is written", async ([, schedules, how, code, field], { db }) => {
    await expectError(sync(db, schedules, how), code, field);
    expect(await db.value("select count(*)::int from jobforge.schedules")).toBe(0);
  });
});
