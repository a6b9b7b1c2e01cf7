/** Schedules by id, in bulk and in counts, and runs that a program claims and ends itself, over every transport. */
import { describe, expect } from "vitest";
import { z } from "zod";
import {
  defineJob,
  defineSchedule,
  InvalidArgumentError,
  JobNotHeldError,
  ScheduleNotFoundError,
} from "../src/index.ts";
import { allOf } from "./support/lists.ts";
import { test, transports } from "./support/transports.ts";

const T = "11111111-1111-4111-8111-111111111111";
const ofT = { tenantId: T };
const fetchFeed = defineJob({
  type: "feed.fetch",
  input: z.object({ url: z.string(), force: z.boolean().optional() }),
  output: z.object({ items: z.number() }),
});
const other = defineJob({ type: "other" });
const payload = { url: "https://example.com/feed" };
const soon = (): Date => new Date(Date.now() + 3_600_000);

describe.each(transports)("over %s", (transport) => {
  test("a schedule is created only if it is missing, or keeps its next run", async ({ connect }) => {
    const forge = await connect(transport, { role: "jobforge_operator" });
    const first = soon();
    const options = { ...ofT, dynamic: true, payload, firstRunAt: first } as const;
    expect(await forge.schedules.ensure(fetchFeed, "f", options)).toMatchObject({ nextRunAt: first });
    await forge.schedules.update(fetchFeed, "f", { mergePayload: { force: true } }, ofT);
    expect(
      await forge.schedules.ensure(fetchFeed, "f", { ...options, ifMissing: true, firstRunAt: null }),
    ).toMatchObject({ outcome: "existing", nextRunAt: first, payload: { ...payload, force: true } });
    const invalid = new Date("never");
    await expect(forge.schedules.ensure(fetchFeed, "f", { ...options, firstRunAt: invalid })).rejects.toThrow(
      InvalidArgumentError,
    );
  });

  test("runs get the attempts of the definition, unless the schedule has its own", async ({ connect }) => {
    const forge = await connect(transport, { role: "jobforge_operator" });
    const twice = defineJob({ type: "twice", retry: { maxAttempts: 2 } });
    const options = { ...ofT, every: "1h", retryRuns: true } as const;
    const attempts = async (): Promise<(number | undefined)[]> => {
      const runs = await allOf(forge.list({ ...ofT, job: twice, status: "running" }));
      return runs.map(({ maxAttempts }) => maxAttempts).toSorted();
    };
    expect(await forge.schedules.ensure(twice, "a", options)).toMatchObject({ defaultAttempts: 2 });
    await forge.runs.claim({ workerId: "script", job: twice, limit: 9 });
    expect(await attempts()).toEqual([2]);
    await forge.schedules.ensure(twice, "b", { ...options, maxAttempts: 7 });
    await forge.sync([defineSchedule({ job: twice, key: "c", tenantId: T, every: "1h" })], { app: "app" });
    await forge.runs.claim({ workerId: "script", job: twice, limit: 9 });
    expect(await attempts()).toEqual([2, 2, 7]);
    const [run] = (await forge.list({ ...ofT, job: twice }).page()).items;
    expect(run?.scheduleKey).toMatch(/^[abc]$/);
  });

  test("a program claims runs, and ends them without looking for their fence", async ({ connect }) => {
    const forge = await connect(transport, { role: "jobforge_operator" });
    await forge.schedules.ensure(fetchFeed, "f", { ...ofT, dynamic: true, payload });
    const claim = { workerId: "script", job: fetchFeed, tenantId: T };
    const [run] = await forge.runs.claim(claim);
    expect(run).toMatchObject({
      attempt: 1,
      tenantId: T,
      type: "feed.fetch",
      payload,
      schedule: { key: "f", previousRun: undefined },
    });
    expect(await run?.heartbeat()).toEqual({ heartbeatAt: expect.any(Date), cancelRequested: false });
    expect(await run?.fail(new TypeError("503"), { nextRunAt: new Date() })).toMatchObject({
      status: "failed",
    });
    await expect(run?.heartbeat()).rejects.toThrow(JobNotHeldError);

    const [again] = await forge.runs.claim(claim);
    expect(again?.schedule?.previousRun).toMatchObject({
      status: "failed",
      error: "503",
      consecutiveFailures: 1,
    });
    expect(again?.scheduledFor).toBeInstanceOf(Date);
    const byId = { id: again?.scheduleId ?? "" };
    expect(await forge.schedules.get(fetchFeed, byId, ofT)).toMatchObject({ key: "f", lastError: "503" });
    const next = soon();
    expect(await again?.complete({ items: 3 }, { nextRunAt: next })).toMatchObject({ status: "succeeded" });
    expect(await forge.schedules.get(fetchFeed, "f", ofT)).toMatchObject({ nextRunAt: next });
    expect(await forge.runs.claim(claim)).toEqual([]);

    await forge.enqueue(other, {}, ofT);
    const [plain] = await forge.runs.claim({ workerId: "script" });
    expect(plain).toMatchObject({ type: "other", schedule: undefined, scheduleId: undefined });
    expect(await plain?.defer(soon(), { counts: false })).toMatchObject({ status: "queued" });
    await expect(forge.runs.claim({ workerId: "script", limit: 0 })).rejects.toThrow(InvalidArgumentError);
  });

  test("a schedule is changed by its id, and its failures are reset", async ({ connect }) => {
    const forge = await connect(transport, { role: "jobforge_operator" });
    const { id } = await forge.schedules.ensure(fetchFeed, "f", { ...ofT, dynamic: true, payload });
    const [run] = await forge.runs.claim({ workerId: "script" });
    await run?.fail("410 Gone");
    expect(await forge.schedules.update(fetchFeed, { id }, { resetFailures: true }, ofT)).toMatchObject({
      consecutiveFailures: 0,
      lastError: undefined,
    });
    expect(await forge.schedules.disable(fetchFeed, { id }, ofT)).toMatchObject({ enabled: false });
    expect(await allOf(forge.schedules.runs(fetchFeed, { id }, ofT))).toHaveLength(1);
    await expect(forge.schedules.run(other, { id }, ofT)).rejects.toThrow(ScheduleNotFoundError);
    await expect(forge.schedules.run(fetchFeed, { id: "f" }, ofT)).rejects.toThrow(InvalidArgumentError);
    await forge.schedules.delete(fetchFeed, { id }, ofT);
    expect(await forge.schedules.get(fetchFeed, { id }, ofT)).toBeUndefined();
  });

  test("schedules are filtered, ordered, counted and deleted in bulk", async ({ connect }) => {
    const forge = await connect(transport, { role: "jobforge_operator" });
    const make = async (key: string, more: object): Promise<unknown> =>
      await forge.schedules.ensure(fetchFeed, key, { ...ofT, dynamic: true, payload, ...more });
    await make("a", { nextRunAt: new Date(Date.now() - 3_600_000), tags: ["x"] });
    await make("b", { nextRunAt: null, enabled: false });
    await make("c", { nextRunAt: soon() });
    const keys = async (options: object): Promise<string[]> =>
      (await allOf(forge.schedules.list({ ...ofT, ...options }))).map(({ key }) => key);
    expect(await keys({ order: "next_run_at" })).toEqual(["a", "c", "b"]);
    expect(await keys({ overdue: true, tags: ["x"], keyPrefix: "a", running: false })).toEqual(["a"]);
    await expect(async () => await keys({ order: "size" })).rejects.toThrow(InvalidArgumentError);
    expect(await forge.schedules.count(ofT)).toMatchObject([
      { type: "feed.fetch", schedules: 3, enabled: 2, due: 1, overdue: 1, running: 0, exact: true },
    ]);
    expect(await forge.types.list()).toMatchObject([
      { type: "feed.fetch", dueSchedules: 1, oldestScheduleAt: expect.any(Date) },
    ]);
    expect(await forge.usage.live(ofT)).toMatchObject([{ dueSchedules: 1 }]);
    await expect(forge.schedules.deleteMany(ofT)).rejects.toThrow("filters");
    expect(await forge.schedules.deleteMany({ ...ofT, enabled: false, updatedBefore: soon() })).toEqual({
      matched: 1,
      changed: 1,
    });
    expect(await keys({})).toEqual(["a", "c"]);
  });
});
