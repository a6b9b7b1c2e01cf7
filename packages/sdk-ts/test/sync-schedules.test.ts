/** Schedules that code declares: `forge.sync()` writes them, from any number of processes. */
import { describe, expect } from "vitest";
import {
  defineJob,
  defineSchedule,
  ForbiddenError,
  globalTenant,
  InvalidArgumentError,
  InvalidScheduleError,
  InvalidValueError,
  JobForge,
} from "../src/index.ts";
import { cleanUp, sendMail } from "./support/jobs.ts";
import { allOf } from "./support/lists.ts";
import { test, transports } from "./support/transports.ts";

const T = "11111111-1111-4111-8111-111111111111";
const renewWebsub = defineJob({ type: "renew_websub", retry: "gentle" });
const renewal = defineSchedule({
  job: renewWebsub,
  key: "all",
  cron: "0 4 * * *",
  timezone: "Europe/Berlin",
  retryRuns: true,
});
const weekly = defineSchedule({
  job: sendMail,
  key: "weekly",
  cron: "0 9 * * mon",
  tenantId: T,
  payload: { to: "ada@example.com", subject: "Weekly" },
});
const reader = { app: "reader" };

describe.each(transports)("over %s", (transport) => {
  const operator = { role: "jobforge_operator" } as const;

  test("a sync creates declared schedules, returns them, and does nothing the second time", async ({
    connect,
  }) => {
    const forge = await connect(transport, operator);
    const definitions = [renewWebsub, renewal, weekly];
    const planned = await forge.sync(definitions, { ...reader, dryRun: true });
    expect(await allOf(forge.schedules.list())).toEqual([]);
    expect(planned).toMatchObject([
      { type: "renew_websub", action: "created" },
      { type: "renew_websub", key: "all", tenantId: globalTenant, action: "created", changes: [] },
      { type: "mail.send", key: "weekly", tenantId: T, action: "created", changes: [] },
    ]);
    expect(await forge.sync(definitions, reader)).toEqual(planned);
    expect(await forge.sync(definitions, reader)).toMatchObject(
      planned.map(({ type }) => ({ type, action: "unchanged", changes: [] })),
    );
    expect(await forge.schedules.get(sendMail, "weekly", { tenantId: T })).toMatchObject({
      declaredBy: "reader",
      payload: { to: "ada@example.com" },
      subject: "to:ada@example.com",
      tags: ["mail"],
    });
  });

  test("a sync returns the differences, and disables schedules that are no longer declared", async ({
    connect,
  }) => {
    const forge = await connect(transport, operator);
    await forge.sync([renewal, weekly], reader);
    await forge.schedules.ensure(cleanUp, "made while running", { tenantId: T, every: "1h" });
    // At no time of the day is the next full hour equal to the previous next run.
    const startsAt = new Date("2100-01-01T00:00:00Z");
    const later = defineSchedule({ job: renewWebsub, key: "all", every: "1h", startsAt, missed: "all" });
    expect(await forge.sync([later], reader)).toMatchObject([
      {
        key: "all",
        action: "changed",
        changes: expect.arrayContaining([
          { key: "kind", from: "cron", to: "every" },
          { key: "retryRuns", from: true, to: false },
          { key: "nextRunAt", from: expect.any(String), to: expect.any(String) },
        ]),
        nextRunAt: expect.any(Date),
      },
      {
        key: "weekly",
        action: "disabled",
        changes: expect.arrayContaining([{ key: "enabled", from: true, to: false }]),
      },
    ]);
    expect(await forge.sync([], reader)).toMatchObject([{ key: "all", action: "disabled" }]);
    const left = await allOf(forge.schedules.list({ enabled: true }));
    expect(left.map(({ key }) => key)).toEqual(["made while running"]);
    expect(await forge.sync([renewal], reader)).toMatchObject([{ key: "all", action: "changed" }]);
  });

  test("an invalid schedule is refused with its place, and nothing is written", async ({ connect }) => {
    const forge = await connect(transport, operator);
    const never = defineSchedule({ job: cleanUp, key: "never", cron: "0 0 30 2 *" });
    await expect(forge.sync([renewal, never], reader)).rejects.toMatchObject({
      constructor: InvalidScheduleError,
      field: "schedules[1].cron",
    });
    await expect(forge.sync([renewal, renewal], reader)).rejects.toThrow("declared twice");
    const toNobody = { to: "nobody", subject: "" };
    const wrong = defineSchedule({ job: sendMail, key: "k", every: "1d", payload: toNobody });
    await expect(forge.sync([wrong], reader)).rejects.toMatchObject({
      constructor: InvalidValueError,
      field: "schedules[0].payload.to",
    });
    expect(await allOf(forge.schedules.list())).toEqual([]);
  });

  test("a worker declares schedules of a tenant that it names", async ({ connect }) => {
    const worker = await connect(transport, { role: "jobforge_worker" });
    await expect(worker.sync([renewal], reader)).rejects.toThrow(ForbiddenError);
    const options = { ...reader, tenantId: globalTenant };
    expect(await worker.sync([renewal], options)).toMatchObject([{ action: "created" }]);
    await expect(worker.sync([weekly], options)).rejects.toMatchObject({ field: "schedules[0].tenantId" });
  });
});

test("five processes that sync at the same time create one row, and one of them reports it", async ({
  db,
}) => {
  const login = await db.createLogin("jobforge_operator");
  const processes = Array.from({ length: 5 }, () => new JobForge({ database: login.url }));
  const results = await Promise.all(processes.map((forge) => forge.sync([renewWebsub, renewal], reader)));
  const actions = results.map((synced) => synced.at(-1)?.action).sort();
  expect(actions).toEqual(["created", ...Array(4).fill("unchanged")]);
  expect(await db.value("select count(*)::int from jobforge.schedules")).toBe(1);
  await Promise.all(processes.map((forge) => forge.close()));
});

test("eight processes that ensure the same schedule at the same time create one row", async ({ db }) => {
  const login = await db.createLogin("jobforge_app");
  const processes = Array.from({ length: 8 }, () => new JobForge({ database: login.url }));
  const results = await Promise.all(
    processes.map((forge) => forge.schedules.ensure(cleanUp, "f1", { tenantId: T, dynamic: true })),
  );
  expect(results.map(({ outcome }) => outcome).sort()).toEqual(["created", ...Array(7).fill("existing")]);
  expect(new Set(results.map(({ id }) => id)).size).toBe(1);
  await Promise.all(processes.map((forge) => forge.close()));
});

test("a declaration refuses at once what can be checked without a database", async () => {
  expect(() => defineSchedule({ job: cleanUp, key: "", every: "1h" })).toThrow(InvalidArgumentError);
  expect(() => defineSchedule({ job: cleanUp, key: "k", every: "1h", tenantId: "x" })).toThrow("uuid");
  expect(() => defineSchedule({ job: cleanUp, key: "k", every: "1h", startsAt: new Date("?") })).toThrow(
    "startsAt",
  );
  await using forge = new JobForge({ database: "postgres://nowhere.invalid" });
  // @ts-expect-error: schedules need the name of the application
  await expect(forge.sync([renewal])).rejects.toMatchObject({ code: "JF002", field: "app" });
});
