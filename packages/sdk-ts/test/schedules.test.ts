/** Schedules that are created and changed at run time, over every transport. */
import pg from "pg";
import { describe, expect } from "vitest";
import {
  InvalidArgumentError,
  InvalidScheduleError,
  InvalidValueError,
  JobForge,
  ScheduleNotFoundError,
  TenantRequiredError,
} from "../src/index.ts";
import { cleanUp, countWords, sendMail } from "./support/jobs.ts";
import { allOf } from "./support/lists.ts";
import { test, transports } from "./support/transports.ts";

const T = "11111111-1111-4111-8111-111111111111";
const U = "22222222-2222-4222-8222-222222222222";
const ofT = { tenantId: T };
const input = { to: "ada@example.com", subject: "Weekly" };

describe.each(transports)("over %s", (transport) => {
  const app = { role: "jobforge_app", tenantId: T } as const;

  test("a schedule is created once, found and listed, and has the settings of its job's definition", async ({
    connect,
  }) => {
    const forge = await connect(transport, app);
    const options = { ...ofT, cron: "0 9 * * mon", timezone: "Europe/Berlin", payload: input, tags: ["x"] };
    const made = await forge.schedules.ensure(sendMail, "weekly", options);
    expect(made).toMatchObject({
      outcome: "created",
      type: "mail.send",
      key: "weekly",
      tenantId: T,
      kind: "cron",
      timezone: "Europe/Berlin",
      enabled: true,
      payload: input,
      tags: ["mail", "x"],
      subject: "to:ada@example.com",
      overlap: "skip",
      missed: "once",
      consecutiveFailures: 0,
      every: undefined,
      runningSince: undefined,
      declaredBy: undefined,
    });
    expect(made.nextRunAt).toBeInstanceOf(Date);
    const { outcome, ...schedule } = await forge.schedules.ensure(sendMail, "weekly", options);
    expect(outcome).toBe("existing");
    expect(await forge.schedules.get(sendMail, "weekly", ofT)).toEqual(schedule);
    expect(await forge.schedules.get(sendMail, "other", ofT)).toBeUndefined();
    expect((await forge.schedules.list({ ...ofT, job: sendMail }).page()).items).toEqual([schedule]);
    expect((await forge.schedules.list({ ...ofT, enabled: false }).page()).items).toEqual([]);
  });

  test("a schedule without a rhythm is refused, and the error names the options", async ({ connect }) => {
    const forge = await connect(transport, app);
    const error = await forge.schedules.ensure(cleanUp, "k", ofT as never).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(InvalidScheduleError);
    expect(error).toMatchObject({ code: "JF009", hint: expect.stringMatching(/cron.*every/) });
  });

  test("times are Dates in arguments and results", async ({ connect }) => {
    const forge = await connect(transport, app);
    const anchor = new Date("2100-01-01T00:30:00Z");
    const endsAt = new Date("2100-02-01T00:00:00Z");
    const options = { ...ofT, every: "1h", anchor, endsAt, jitter: "30s", nextRunAt: anchor };
    const made = await forge.schedules.ensure(cleanUp, "all", options);
    expect(made).toMatchObject({ kind: "every", every: "01:00:00", jitter: "00:00:30", anchor, endsAt });
    expect(made.nextRunAt).toEqual(anchor);
    const moved = await forge.schedules.update(cleanUp, "all", { nextRunAt: endsAt, jitter: null }, ofT);
    expect(moved).toMatchObject({ nextRunAt: endsAt, jitter: undefined });
    const rested = await forge.schedules.update(cleanUp, "all", { nextRunAt: null }, ofT);
    expect(rested.nextRunAt).toBeUndefined();
  });

  test("disable returns the next run, which is kept", async ({ connect }) => {
    const forge = await connect(transport, app);
    const nextRunAt = new Date(Date.now() + 7_200_000);
    await forge.schedules.ensure(cleanUp, "all", { ...ofT, dynamic: true, nextRunAt });
    expect(await forge.schedules.disable(cleanUp, "all", ofT)).toMatchObject({ enabled: false, nextRunAt });
    expect(await forge.schedules.enable(cleanUp, "all", ofT)).toMatchObject({ enabled: true, nextRunAt });
    expect(await forge.schedules.setEnabled(cleanUp, "all", false, ofT)).toMatchObject({ enabled: false });
    expect(await forge.schedules.run(cleanUp, "all", ofT)).toMatchObject({ runRequested: true });
    await forge.schedules.delete(cleanUp, "all", ofT);
    expect(await forge.schedules.get(cleanUp, "all", ofT)).toBeUndefined();
  });

  test("an invalid option is a typed error that names it", async ({ connect }) => {
    const forge = await connect(transport, app);
    const { schedules } = forge;
    await expect(schedules.ensure(cleanUp, "x", { ...ofT, cron: "0 0 30 2 *" })).rejects.toMatchObject({
      constructor: InvalidScheduleError,
      code: "JF009",
      field: "cron",
      hint: expect.any(String),
    });
    await expect(schedules.ensure(cleanUp, "x", { ...ofT, every: "1 month" })).rejects.toThrow(
      InvalidScheduleError,
    );
    await expect(
      schedules.ensure(cleanUp, "x", { ...ofT, every: "1h", missed: "all", missedLimit: 1000 }),
    ).rejects.toMatchObject({ code: "JF009", field: "missedLimit" });
    for (const call of [
      () => schedules.enable(cleanUp, "gone", ofT),
      () => schedules.update(cleanUp, "gone", { priority: 1 }, ofT),
      () => schedules.run(cleanUp, "gone", ofT),
      () => schedules.delete(cleanUp, "gone", ofT),
      () => schedules.runs(cleanUp, "gone", ofT).page(),
    ])
      await expect(call()).rejects.toMatchObject({ constructor: ScheduleNotFoundError, code: "JF010" });
  });

  test("runs are listed page by page, with types", async ({ db, connect }) => {
    const forge = await connect(transport, app);
    await forge.schedules.ensure(countWords, "all", { ...ofT, dynamic: true, payload: { text: "a b" } });
    for (let run = 0; run < 3; run += 1) {
      await db.query(
        `select jobforge_complete_job(id, 'w', 'succeeded', p_next_run_at => clock_timestamp()) from jobforge_claim_jobs('w')`,
      );
    }
    const runs = forge.schedules.runs(countWords, "all", { ...ofT, pageSize: 2, status: "succeeded" });
    const all = await allOf(runs);
    expect(all).toHaveLength(3);
    expect((await runs.page()).items).toEqual(all.slice(0, 2));
    const [newest] = all;
    expect(newest).toMatchObject({
      type: "words.count",
      payload: { text: "a b" },
      priority: 3,
      reason: "done",
    });
    expect(newest?.scheduledFor).toBeInstanceOf(Date);
    const schedule = await forge.schedules.get(countWords, "all", ofT);
    expect(newest?.scheduleId).toBe(schedule?.id);
    expect(schedule?.lastScheduledFor).toEqual(newest?.scheduledFor);
  });

  test("a list continues after its page, and operators see the schedules of every tenant", async ({
    db,
    connect,
  }) => {
    const operator = await connect(transport, { role: "jobforge_operator" });
    for (const tenantId of [U, T])
      for (const key of ["a", "b", "c"])
        await operator.schedules.ensure(cleanUp, key, { tenantId, every: "1h" });
    const all = await allOf(operator.schedules.list({ pageSize: 2 }));
    expect(all.map(({ tenantId, key }) => [tenantId, key])).toEqual([
      ...["a", "b", "c"].map((key) => [T, key]),
      ...["a", "b", "c"].map((key) => [U, key]),
    ]);
    await db.query(
      `select jobforge_complete_job(id, 'w', 'failed', '{"message": "no"}') from jobforge_claim_jobs('w', 1)`,
    );
    const { items } = await operator.schedules.list({ failing: true }).page();
    expect(items).toMatchObject([{ consecutiveFailures: 1, lastError: "no", lastStatus: "failed" }]);
  });
});

test("mistakes that the SDK can find are refused before any round trip", async () => {
  await using forge = new JobForge({ database: "postgres://nowhere.invalid" });
  const { schedules } = forge;
  await expect(schedules.ensure(cleanUp, "", { ...ofT, dynamic: true })).rejects.toMatchObject({
    constructor: InvalidArgumentError,
    field: "key",
  });
  await expect(
    schedules.ensure(sendMail, "x", { ...ofT, every: "1h", payload: { ...input, to: "nobody" } }),
  ).rejects.toMatchObject({ constructor: InvalidValueError, field: "payload.to" });
  const nextRunAt = new Date(Number.NaN);
  await expect(schedules.ensure(cleanUp, "x", { ...ofT, dynamic: true, nextRunAt })).rejects.toMatchObject({
    field: "nextRunAt",
    message: expect.stringContaining("must be a valid Date, not an invalid Date"),
  });
  // @ts-expect-error: the definition comes first
  await expect(schedules.ensure("x", { ...ofT, job: cleanUp, dynamic: true })).rejects.toMatchObject({
    field: "job",
    message: expect.stringContaining("must be a definition"),
  });
  await expect(schedules.update(sendMail, "x", { payload: { ...input, to: "nobody" } }, ofT)).rejects.toThrow(
    InvalidValueError,
  );
  // @ts-expect-error: the tenant is missing
  await expect(schedules.enable(cleanUp, "x", {})).rejects.toThrow(TenantRequiredError);
});

describe("in a transaction", () => {
  test("a schedule is created and rolled back with the application's rows", async ({ db, connect }) => {
    const forge = await connect("Postgres", { role: "jobforge_app" });
    const client = new pg.Client({ connectionString: db.url });
    await client.connect();
    try {
      await client.query("begin");
      await forge.with(client).schedules.ensure(cleanUp, "all", { ...ofT, dynamic: true });
      await client.query("rollback");
      expect(await forge.schedules.get(cleanUp, "all", ofT)).toBeUndefined();
    } finally {
      await client.end();
    }
  });

  test("a lock holds until the transaction ends, and another transaction waits for it", async ({
    db,
    connect,
  }) => {
    const forge = await connect("Postgres", { role: "jobforge_app" });
    await forge.schedules.ensure(cleanUp, "all", { ...ofT, dynamic: true });
    const client = new pg.Client({ connectionString: db.url });
    await client.connect();
    try {
      await client.query("begin");
      const tx = forge.with(client);
      expect(await tx.schedules.lock(cleanUp, "all", ofT)).toMatchObject({ key: "all", enabled: true });
      let isDone = false;
      const waiting = forge.schedules.update(cleanUp, "all", { priority: 5 }, ofT).finally(() => {
        isDone = true;
      });
      const waits =
        "select count(*)::int from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
      while ((await db.value<number>(waits)) === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      expect(isDone).toBe(false);
      await tx.schedules.setEnabled(cleanUp, "all", false, ofT);
      await client.query("commit");
      expect(await waiting).toMatchObject({ enabled: false, priority: 5 });
      await client.query("begin");
      await expect(tx.schedules.lock(cleanUp, "gone", ofT)).rejects.toThrow(ScheduleNotFoundError);
    } finally {
      await client.end();
    }
  });
});
