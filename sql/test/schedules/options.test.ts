/** Options that concern a schedule which may exist already, and calls that name a schedule by its id. */
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claim, complete, expectError, fail, type Sql, T, U } from "../support/kernel.ts";
import {
  claimRun,
  ensure,
  inTime,
  type Schedule,
  type ScheduleResult,
  schedule,
  steer,
  update,
} from "../support/schedules.ts";
import { boundLogin } from "../support/tenants.ts";

describe("ensure with if_missing", () => {
  test("creates a schedule, and leaves an existing one as it is", async ({ db }) => {
    const options = {
      dynamic: true,
      if_missing: true,
      payload: { n: 1 },
      next_run_at: await inTime(db, "1 hour"),
    };
    expect(await ensure(db, options)).toMatchObject({ outcome: "created", payload: { n: 1 } });
    await update(db, { payload: { n: 2, force: true }, enabled: false });
    const before = await schedule(db);
    expect(
      await ensure(db, { ...options, every: "5m", dynamic: false, enabled: true, next_run_at: null }),
    ).toMatchObject({ outcome: "existing", payload: { n: 2, force: true } });
    expect(await schedule(db)).toEqual(before);
  });

  test("creates one schedule when twenty callers race", async ({ db }) => {
    const callers = await Promise.all(Array.from({ length: 20 }, () => db.connect()));
    const results = await Promise.all(
      callers.map((caller, n) => ensure(caller, { dynamic: true, if_missing: true, payload: { n } })),
    );
    expect(results.filter(({ outcome }) => outcome === "created")).toHaveLength(1);
    expect(new Set(results.map(({ payload }) => JSON.stringify(payload)))).toHaveProperty("size", 1);
  });

  test("still refuses invalid options", async ({ db }) => {
    await ensure(db);
    await expectError(ensure(db, { dynamic: true, if_missing: "yes" }), "JF009", "if_missing");
    await expectError(ensure(db, { cron: "never", if_missing: true }), "JF009", "cron");
    await expectError(update(db, { if_missing: true }), "JF009", "if_missing");
  });
});

describe("first_run_at", () => {
  test("is the next run of a new schedule, and moves no existing one", async ({ db }) => {
    const first = await inTime(db, "2 hours");
    await ensure(db, { dynamic: true, first_run_at: first });
    expect(await schedule(db)).toMatchObject({ next_run_at: first });
    expect(await ensure(db, { dynamic: true, first_run_at: await inTime(db, "5 hours") })).toMatchObject({
      outcome: "existing",
    });
    expect(await schedule(db)).toMatchObject({ next_run_at: first });
    await ensure(db, { every: "1h", first_run_at: first }, { key: "every" });
    expect(await schedule(db, { key: "every" })).toMatchObject({ next_run_at: first });
    await expectError(
      ensure(db, { dynamic: true, first_run_at: first, next_run_at: first }),
      "JF009",
      "first_run_at",
    );
    await expectError(update(db, { first_run_at: first }), "JF009", "first_run_at");
    await expectError(ensure(db, { dynamic: true, first_run_at: "soon" }), "JF009", "first_run_at");
  });
});

describe("reset_failures", () => {
  test("makes a failing schedule count from zero again, in one call with its next run", async ({ db }) => {
    await ensure(db);
    await fail(db, (await claimRun(db)).id, { error: { message: "410 Gone" } });
    expect(await schedule(db)).toMatchObject({ consecutive_failures: 1, last_error: "410 Gone" });
    const now = await inTime(db, "0");
    await update(db, { reset_failures: true, next_run_at: now });
    expect(await schedule(db)).toMatchObject({ consecutive_failures: 0, last_error: null, next_run_at: now });
    await fail(db, (await claimRun(db)).id);
    expect(await schedule(db)).toMatchObject({ consecutive_failures: 1 });
    expect(await ensure(db, { dynamic: true, reset_failures: true })).toMatchObject({
      outcome: "updated",
      consecutive_failures: 0,
    });
    expect(await ensure(db, { dynamic: true, reset_failures: true })).toMatchObject({ outcome: "existing" });
    await expectError(update(db, { reset_failures: 1 }), "JF009", "reset_failures");
  });
});

describe("merge_payload", () => {
  test("changes some keys of the payload", async ({ db }) => {
    await ensure(db, { dynamic: true, payload: { url: "u", force: false } });
    expect(await update(db, { merge_payload: { force: true, etag: "e" } })).toMatchObject({
      payload: { url: "u", force: true, etag: "e" },
    });
    await expectError(update(db, { merge_payload: [1] }), "JF009", "merge_payload");
    await expectError(update(db, { merge_payload: {}, payload: {} }), "JF009", "merge_payload");
    await expectError(ensure(db, { dynamic: true, merge_payload: {} }), "JF009", "merge_payload");
    await expectError(update(db, { merge_payload: { text: "x".repeat(2 ** 20) } }), "JF008");
    await update(db, { payload: [1] });
    await expectError(update(db, { merge_payload: {} }), "JF009", "merge_payload");
  });
});

const byId = async (db: Sql, verb: string, id: string, more = ""): Promise<ScheduleResult> =>
  await db.value(`select jobforge_${verb}($1, p_schedule_id => $2${more})`, [T, id]);

describe("a schedule that is named by its id", () => {
  test("is read and changed by every function", async ({ db }) => {
    await ensure(db);
    const { schedule_id: id } = await claimRun(db);
    expect(await db.query("select key from jobforge_get_schedule($1, p_schedule_id => $2)", [T, id])).toEqual(
      [{ key: "feed" }],
    );
    expect(
      await db.query("select id from jobforge_list_schedule_runs($1, p_schedule_id => $2)", [T, id]),
    ).toHaveLength(1);
    expect(await byId(db, "lock_schedule", id)).toMatchObject({ key: "feed" });
    expect(await byId(db, "update_schedule", id, `, p_changes => '{"priority": 4}'`)).toMatchObject({
      priority: 4,
    });
    expect(await byId(db, "disable_schedule", id)).toMatchObject({ enabled: false });
    expect(await byId(db, "enable_schedule", id)).toMatchObject({ enabled: true });
    expect(await byId(db, "set_schedule_enabled", id, ", p_enabled => false")).toMatchObject({
      enabled: false,
    });
    expect(await byId(db, "run_schedule", id)).toMatchObject({ run_requested: true });
    expect(await byId(db, "delete_schedule", id)).toMatchObject({ deleted: true });
    await expectError(byId(db, "run_schedule", id), "JF010", "schedule_id");
  });

  test("must belong to the tenant, and to the type and key if they are named too", async ({ db }) => {
    await ensure(db, { dynamic: true }, { tenant: U });
    const { id } = await schedule(db, { tenant: U });
    const own = await boundLogin(db, T, "jobforge_worker");
    await expectError(byId(own, "run_schedule", id), "JF010", "schedule_id");
    expect(await own.query("select * from jobforge_get_schedule($1, p_schedule_id => $2)", [T, id])).toEqual(
      [],
    );
    const mine = await ensure(db);
    const named = "select jobforge_run_schedule($1, $2, $3, $4) ->> 'key'";
    expect(await db.value(named, [T, "fetch", null, mine.id])).toBe("feed");
    await expectError(db.value(named, [T, "other", null, mine.id]), "JF010", "schedule_id");
    await expectError(db.value(named, [T, "fetch", "other", mine.id]), "JF010", "schedule_id");
  });
});

describe("waiting_since", () => {
  test("is the due time of a run that waits to begin", async ({ db }) => {
    const due = await inTime(db, "-1 minute");
    await ensure(db, { dynamic: true, next_run_at: due });
    await ensure(db, { dynamic: true, priority: 1 }, { key: "first" });
    expect(await schedule(db)).toMatchObject({ waiting_since: null, next_run_at: due });
    await claim(db, "w1", { limit: 1 });
    const waiting: Schedule & { waiting_since?: Date | null } = await schedule(db);
    expect(waiting).toMatchObject({ waiting_since: due, next_run_at: null });
    const run = await claimRun(db);
    expect(await schedule(db)).toMatchObject({ waiting_since: null });
    await complete(db, run.id);
    await steer(db, "run");
    expect(await schedule(db)).toMatchObject({ waiting_since: null, run_requested: true });
  });
});

test.for([5, "5", " 90 ", "1.5", "-5", 0])(
  "an interval without a unit, such as %o, is refused with a hint",
  async (every, { db }) => {
    expect(await expectError(ensure(db, { every }), "JF009", "every")).toMatchObject({
      message: expect.stringContaining("has no unit"),
      hint: expect.stringContaining("5m"),
    });
    await expectError(ensure(db, { every: "1h", jitter: every }), "JF009", "jitter");
    await ensure(db, { every: "1h" });
    await expectError(update(db, { every }), "JF009", "every");
  },
);
