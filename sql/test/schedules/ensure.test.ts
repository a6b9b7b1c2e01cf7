/** jobforge_ensure_schedule: idempotent under concurrency, and refuses invalid schedules. */
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { travelTo } from "../support/archive.ts";
import { claim, connections, expectError, T } from "../support/kernel.ts";
import { claimRun, ensure, inTime, schedule, steer, update } from "../support/schedules.ts";

const count = "select count(*)::int from jobforge.schedules";

describe("ensuring a schedule", () => {
  test("creates one row when eight processes call it at the same time, and one of them is the creator", async ({
    db,
  }) => {
    const processes = await connections(db, 8);
    const answers = await Promise.all(processes.map((process) => ensure(process)));
    expect(answers.map(({ outcome }) => outcome).sort()).toEqual(["created", ...Array(7).fill("existing")]);
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
    expect(await db.value(count)).toBe(1);
  });

  test("waits for another transaction that creates the same schedule, and finds it", async ({ db }) => {
    const [first, second] = await connections(db, 2);
    if (first === undefined || second === undefined) throw new Error("no connections");
    await first.query("begin");
    const { id } = await ensure(first);
    const waiting = ensure(second);
    await first.query("commit");
    expect(await waiting).toMatchObject({ id, outcome: "existing" });
  });

  test("creates one schedule per tenant, type and key", async ({ db }) => {
    const U = "22222222-2222-4222-8222-222222222222";
    for (const which of [{}, { key: "other" }, { type: "other" }, { tenant: U }])
      expect(await ensure(db, { dynamic: true }, which)).toMatchObject({ outcome: "created" });
    expect(await db.value(count)).toBe(4);
  });

  test("keeps the next run of an existing schedule, unless the options set it", async ({ db }) => {
    const next = await inTime(db, "2 hours");
    await ensure(db, { dynamic: true, next_run_at: next });
    expect(await ensure(db)).toMatchObject({ outcome: "existing" });
    expect(await schedule(db)).toMatchObject({ next_run_at: next });
    expect(await ensure(db, { dynamic: true, priority: 3 })).toMatchObject({
      outcome: "updated",
      priority: 3,
    });
    expect(await schedule(db)).toMatchObject({ next_run_at: next });
    const later = await inTime(db, "3 hours");
    expect(await ensure(db, { dynamic: true, next_run_at: later })).toMatchObject({ outcome: "updated" });
    expect(await schedule(db)).toMatchObject({ next_run_at: later, priority: 0 });
    await ensure(db, { dynamic: true, reset: true });
    await claimRun(db);
  });

  test("writes and locks nothing if the schedule is already as declared", async ({ db }) => {
    const options = { cron: "0 9 * * 1-5", timezone: "Europe/Berlin", payload: { a: 1 }, tags: ["x"] };
    await ensure(db, options);
    const holder = await db.connect();
    await holder.query("begin");
    await steer(holder, "lock");
    const place = "select ctid::text from jobforge.schedules";
    const before = await db.value(place);
    await db.query("set lock_timeout = '300ms'");
    expect(await ensure(db, options)).toMatchObject({ outcome: "existing" });
    expect(await db.value(place)).toBe(before);
    await holder.query("rollback");
  });

  test("neither enables nor disables an existing schedule, unless the options say so", async ({ db }) => {
    await ensure(db, { dynamic: true, enabled: false });
    expect(await ensure(db)).toMatchObject({ outcome: "existing", enabled: false });
    expect(await ensure(db, { dynamic: true, enabled: true })).toMatchObject({
      outcome: "updated",
      enabled: true,
    });
    expect(await ensure(db)).toMatchObject({ outcome: "existing", enabled: true });
  });

  test("calculates the next run again when the rhythm changes", async ({ db }) => {
    await travelTo(db, "'2027-03-01T10:30:00Z'::timestamptz");
    const at = async (options: unknown) => (await ensure(db, options)).next_run_at;
    expect(await at({ cron: "0 0 * * *" })).toBe("2027-03-02T00:00:00+00:00");
    expect(await at({ cron: "0 12 * * *" })).toBe("2027-03-01T12:00:00+00:00");
    expect(await at({ cron: "0 12 * * *", timezone: "Asia/Tokyo" })).toBe("2027-03-02T03:00:00+00:00");
    expect(await at({ every: "1 day", anchor: "2027-01-01T06:00:00Z" })).toBe("2027-03-02T06:00:00+00:00");
    expect(await at({ dynamic: true })).toBe("2027-03-02T06:00:00+00:00");
  });

  test("has no effect when it is rolled back", async ({ db }) => {
    await db.query("begin");
    await ensure(db);
    await db.query("rollback");
    expect(await claim(db)).toEqual([]);
    expect(await db.value(count)).toBe(0);
  });

  test("is written to the audit log once for each change", async ({ db }) => {
    const { id } = await ensure(db);
    await ensure(db);
    await ensure(db, { dynamic: true, priority: 1 });
    for (const verb of ["disable", "disable", "enable", "run", "delete"] as const) await steer(db, verb);
    const rows = await db.query<{ action: string; meta: unknown }>(
      "select action, meta from jobforge_audit_log where entity_type = 'schedule' and entity_id = $1 order by id",
      [id],
    );
    expect(rows.map(({ action }) => action)).toEqual([
      "SCHEDULE_CREATED",
      "SCHEDULE_UPDATED",
      "SCHEDULE_DISABLED",
      "SCHEDULE_ENABLED",
      "SCHEDULE_RUN_REQUESTED",
      "SCHEDULE_DELETED",
    ]);
    expect(rows[0]?.meta).toMatchObject({ type: "fetch", key: "feed" });
  });
});

const wrong: readonly (readonly [field: string, options: unknown])[] = [
  ["cron", {}],
  ["cron", { cron: null }],
  ["cron", { dynamic: false }],
  ["cron", { cron: "" }],
  ["cron", { cron: "0 0 30 2 *" }],
  ["cron", { cron: "1-999999999 * * * *" }],
  ["cron", { cron: 5 }],
  ["timezone", { cron: "0 0 * * *", timezone: "Mars/Olympus" }],
  ["timezone", { cron: "0 0 * * *", timezone: "+05:00" }],
  ["timezone", { every: "5m", timezone: "UTC" }],
  ["every", { cron: "0 0 * * *", every: "5m" }],
  ["dynamic", { cron: "0 0 * * *", dynamic: true }],
  ["dynamic", { every: "5m", dynamic: true }],
  ["dynamic", { dynamic: "yes" }],
  ["every", { every: "0 seconds" }],
  ["every", { every: "999 milliseconds" }],
  ["every", { every: "-5m" }],
  ["every", { every: "1 month" }],
  ["every", { every: "367 days" }],
  ["every", { every: "often" }],
  ["every", { every: "" }],
  ["every", { every: 60 }],
  ["anchor", { dynamic: true, anchor: "2027-01-01T00:00:00Z" }],
  ["anchor", { every: "5m", anchor: "then" }],
  ["anchor", { every: "5m", anchor: "infinity" }],
  ["jitter", { every: "5m", jitter: "5m" }],
  ["jitter", { cron: "0 0 * * *", jitter: "1m" }],
  ["next_run_at", { dynamic: true, next_run_at: "tomorrowish" }],
  ["next_run_at", { dynamic: true, next_run_at: "infinity" }],
  ["next_run_at", { dynamic: true, ends_at: "2027-01-01T00:00:00Z", next_run_at: "2028-01-01T00:00:00Z" }],
  ["ends_at", { dynamic: true, starts_at: "2028-01-01T00:00:00Z", ends_at: "2027-01-01T00:00:00Z" }],
  ["overlap", { dynamic: true, overlap: "perhaps" }],
  ["missed", { dynamic: true, missed: "twice" }],
  ["missed_limit", { dynamic: true, missed_limit: 0 }],
  ["missed_limit", { dynamic: true, missed_limit: 101 }],
  ["missed_limit", { dynamic: true, missed_limit: 1.5e99 }],
  ["retry_runs", { dynamic: true, retry_runs: 1 }],
  ["enabled", { dynamic: true, enabled: "true" }],
  ["reset", { dynamic: true, reset: "true" }],
  ["priority", { dynamic: true, priority: 1_000_001 }],
  ["priority", { dynamic: true, priority: "high" }],
  ["max_attempts", { dynamic: true, max_attempts: 0 }],
  ["tags", { dynamic: true, tags: [1] }],
  ["tags", { dynamic: true, tags: [""] }],
  ["subject", { dynamic: true, subject: "" }],
  ["concurrency_key", { dynamic: true, concurrency_key: "x".repeat(1025) }],
  ["crom", { crom: "0 0 * * *" }],
  ["options", null],
  ["options", []],
];

describe("refuses, without writing anything,", () => {
  test("an invalid option, and names it", async ({ db }) => {
    for (const [field, options] of wrong) {
      const { hint } = await expectError(ensure(db, options), "JF009", field);
      expect(hint, JSON.stringify(options)).not.toBe("");
    }
    expect(await db.value(count)).toBe(0);
  });

  test("a type, a key or a payload that no job could have", async ({ db }) => {
    const dynamic = { dynamic: true };
    await expectError(ensure(db, dynamic, { type: "" }), "JF002", "type");
    await expectError(ensure(db, dynamic, { type: "*" }), "JF002", "type");
    await expectError(ensure(db, dynamic, { type: null }), "JF002", "type");
    await expectError(ensure(db, dynamic, { key: "" }), "JF002", "key");
    await expectError(ensure(db, dynamic, { key: null }), "JF002", "key");
    await expectError(ensure(db, dynamic, { key: "k".repeat(1025) }), "JF002", "key");
    await expectError(ensure(db, dynamic, { tenant: null }), "JF001", "tenant_id");
    await expectError(ensure(db, { dynamic: true, payload: "x".repeat(1_100_000) }), "JF008", "payload");
    expect(await db.value(count)).toBe(0);
  });

  test("a change that makes the schedule invalid, and leaves it as it was", async ({ db }) => {
    await ensure(db, { every: "5m" });
    const before = await schedule(db);
    await expectError(update(db, { jitter: "6m" }), "JF009", "jitter");
    await expectError(update(db, { timezone: "UTC" }), "JF009", "timezone");
    await expectError(update(db, { cron: "nonsense" }), "JF009", "cron");
    expect(await schedule(db)).toEqual(before);
  });

  test("a schedule that does not exist, and names it in the message", async ({ db }) => {
    for (const verb of ["enable", "disable", "lock", "run", "delete"] as const) {
      const { message } = await expectError(steer(db, verb, { key: "feed 7" }), "JF010", "key");
      expect(message, verb).toContain("feed 7");
    }
    await expectError(update(db, {}), "JF010", "key");
    await expectError(
      db.query("select jobforge_list_schedule_runs($1, 'fetch', 'feed')", [T]),
      "JF010",
      "key",
    );
    await expectError(
      db.query("select jobforge_set_schedule_enabled($1, 'fetch', 'feed', true)", [T]),
      "JF010",
      "key",
    );
    expect(await db.query("select * from jobforge_get_schedule($1, 'fetch', 'feed')", [T])).toEqual([]);
  });
});
