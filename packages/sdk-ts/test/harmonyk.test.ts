/** The names and rules of the Harmonyk design, on JobForge (scenarios 34, 35, 41). */
import { describe, expect, onTestFinished, test as plain } from "vitest";
import { gapOf, T, travelToRun } from "../../../sql/test/support/kernel.ts";
import { test } from "../../../test/database.ts";
import {
  canRetry,
  getBackoffDelayMs,
  globalTenant,
  InvalidArgumentError,
  JobForge,
  JobForgeJobsRepository,
  JobNotHeldError,
  type JobsRepository,
  makeJobDedupeKey,
} from "../src/index.ts";

plain("delays double from one second up to a minute, for any number of attempts", () => {
  const attempts = [0, 1, 2, 3, 4, 5, 6, 7, 8, 100, 5000];
  expect(attempts.map(getBackoffDelayMs)).toEqual([
    1000, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000, 60_000,
  ]);
});

plain("a job may be retried if it is neither running nor done and has attempts left", () => {
  expect(canRetry("success", 0)).toBe(false);
  expect(canRetry("running", 0)).toBe(false);
  expect(canRetry("failed", 4)).toBe(true);
  expect(canRetry("failed", 5)).toBe(false);
  expect(canRetry("queued", 0)).toBe(true);
  expect(canRetry("failed", 2, 2)).toBe(false);
});

describe("a dedupe key", () => {
  plain("has the type, the organization and the payload with sorted keys", () => {
    const payload = { b: [{ z: 1, a: undefined, y: null }], a: new Date(0), c: "ü" };
    expect(makeJobDedupeKey("mail", T, payload)).toBe(
      `mail::${T}::{"a":"1970-01-01T00:00:00.000Z","b":[{"y":null,"z":1}],"c":"ü"}`,
    );
    expect(makeJobDedupeKey("mail", null)).toBe("mail::global::{}");
    expect(makeJobDedupeKey("mail", undefined, { x: [2, 1] })).toBe('mail::global::{"x":[2,1]}');
  });

  plain("sorts all keys as texts, also integers", () => {
    const payload: unknown = JSON.parse('{"b": 1, "10": {"2": "x", "11": []}, "9": 2, "__proto__": 3}');
    expect(makeJobDedupeKey("t", null, payload as Record<string, unknown>)).toBe(
      't::global::{"10":{"11":[],"2":"x"},"9":2,"__proto__":3,"b":1}',
    );
  });

  plain("does not depend on the order of keys, at any depth", () => {
    const one = { a: { b: 1, c: { d: 1, e: 2 } }, f: 1 };
    const other = { f: 1, a: { c: { e: 2, d: 1 }, b: 1 } };
    expect(makeJobDedupeKey("t", T, one)).toBe(makeJobDedupeKey("t", T, other));
  });

  plain("is refused for a payload that has no JSON form", () => {
    expect(() => makeJobDedupeKey("t", T, { n: 1n })).toThrow(InvalidArgumentError);
  });
});

describe("the repository", () => {
  test("enqueues for an organization or for none, now or later", async ({ db }) => {
    const forge = new JobForge({ database: db.url });
    onTestFinished(() => forge.close());
    const jobs: JobsRepository & JobForgeJobsRepository = new JobForgeJobsRepository(forge);
    const runAt = new Date("2099-01-01T00:00:00.000Z");
    const later = await jobs.enqueue({ type: "a", orgId: T, payload: { x: 1 }, runAt });
    const now = await jobs.enqueue({ type: "b", orgId: null, runAt: null });
    expect(await jobs.get(later, T)).toMatchObject({
      orgId: T,
      payload: { x: 1 },
      nextRunAt: runAt,
      status: "queued",
      attempts: 0,
      lastError: null,
    });
    expect((await forge.get(now, { tenantId: globalTenant }))?.type).toBe("b");
    expect(await jobs.claim(10)).toMatchObject([
      { id: now, orgId: null, payload: {}, status: "running", attempts: 0 },
    ]);
    await jobs.markSuccess(now);
    expect(await jobs.get(now)).toMatchObject({ status: "success", attempts: 0 });
  });

  test("executes a failing job six times, with gaps of 1, 2, 4, 8 and 16 seconds, then reports failed", async ({
    db,
  }) => {
    const connection = await db.connect();
    const jobs = new JobForgeJobsRepository(new JobForge({ database: connection.client }));
    const id = await jobs.enqueue({ type: "a", orgId: T });
    const gaps: number[] = [];
    for (let execution = 0; execution < 6; execution += 1) {
      const [job] = await jobs.claim(10);
      expect(job).toMatchObject({ id, attempts: execution });
      expect(canRetry("failed", execution)).toBe(execution < 5);
      await jobs.markFailure(id, `failure ${execution}`);
      if (execution === 5) break;
      gaps.push(await gapOf(db, id));
      expect(await jobs.claim(10)).toEqual([]);
      await travelToRun(connection, id);
    }
    for (const [place, gap] of gaps.entries())
      expect(Math.abs(gap * 1000 - getBackoffDelayMs(place + 1))).toBeLessThan(500);
    expect(await jobs.get(id, T)).toMatchObject({
      status: "failed",
      attempts: 5,
      lastError: "failure 5",
    });
    expect(await jobs.claim(10)).toEqual([]);
  });

  test("waits at most a minute before a retry, whatever maxAttempts and the policy of the type are", async ({
    db,
  }) => {
    const connection = await db.connect();
    const forge = new JobForge({ database: connection.client });
    await forge.policies.set("a", { baseMs: 600_000 });
    const jobs = new JobForgeJobsRepository(forge, { maxAttempts: 10 });
    const id = await jobs.enqueue({ type: "a", orgId: T });
    for (let failure = 1; failure <= 10; failure += 1) {
      await jobs.claim(1);
      await jobs.markFailure(id, "boom");
      expect(Math.abs((await gapOf(db, id)) * 1000 - getBackoffDelayMs(failure))).toBeLessThan(500);
      await travelToRun(connection, id);
    }
    await jobs.claim(1);
    await jobs.markFailure(id, "the last");
    expect(await jobs.get(id, T)).toMatchObject({ status: "failed", lastError: "the last" });
  });

  test("stores an error with characters that Postgres cannot store", async ({ db }) => {
    const forge = new JobForge({ database: db.url });
    onTestFinished(() => forge.close());
    const jobs = new JobForgeJobsRepository(forge);
    const id = await jobs.enqueue({ type: "a" });
    await jobs.claim(1);
    await jobs.markFailure(id, "a\u0000b \ud83d");
    expect(await jobs.get(id)).toMatchObject({ status: "queued", lastError: "a\ufffdb \ufffd" });
  });

  test("ends only jobs that it has claimed itself, and each of them once", async ({ db }) => {
    const forge = new JobForge({ database: db.url });
    onTestFinished(() => forge.close());
    const [jobs, others] = [new JobForgeJobsRepository(forge), new JobForgeJobsRepository(forge)];
    const id = await jobs.enqueue({ type: "a" });
    await expect(jobs.markSuccess(id)).rejects.toThrow(JobNotHeldError);
    await jobs.claim(1, ["a"]);
    await expect(others.markSuccess(id)).rejects.toThrow(JobNotHeldError);
    await jobs.markSuccess(id);
    await expect(jobs.markSuccess(id)).rejects.toThrow(JobNotHeldError);
  });

  test("keeps a job that takes long with heartbeats, and loses it without", async ({ db }) => {
    const connection = await db.connect();
    const forge = new JobForge({ database: connection.client });
    const jobs = new JobForgeJobsRepository(forge);
    const id = await jobs.enqueue({ type: "a" });
    await jobs.claim(1);
    await connection.travel("4 minutes");
    await jobs.heartbeat(id);
    await connection.travel("8 minutes");
    await forge.installation.maintain();
    await jobs.heartbeat(id);
    await connection.travel("14 minutes");
    await forge.installation.maintain();
    await expect(jobs.heartbeat(id)).rejects.toThrow(JobNotHeldError);
    await expect(jobs.markSuccess(id)).rejects.toThrow(JobNotHeldError);
  });

  test("merges equal jobs while they are queued or running, if dedupe is on", async ({ db }) => {
    const forge = new JobForge({ database: db.url });
    onTestFinished(() => forge.close());
    const jobs = new JobForgeJobsRepository(forge, { dedupe: true });
    const job = { type: "a", orgId: T, payload: { b: 1, a: "x".repeat(2000) } };
    const first = await jobs.enqueue(job);
    expect(await jobs.enqueue({ ...job, payload: { a: job.payload.a, b: 1 } })).toBe(first);
    await jobs.claim(1);
    expect(await jobs.enqueue(job)).toBe(first);
    await jobs.markSuccess(first);
    expect(await jobs.enqueue(job)).not.toBe(first);
  });
});
