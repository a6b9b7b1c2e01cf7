/** Where finished jobs are stored, for how long, and how they are deleted. */
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  type Leaf,
  largePayload,
  leafOf,
  leaves,
  maintain,
  maintainAll,
  makeLeaves,
  placeOf,
  remembered,
  runJob,
  runWithTraces,
  tracesOf,
  travelToRetirement,
} from "../support/archive.ts";
import {
  attemptsOf,
  cancel,
  claim,
  complete,
  enqueue,
  find,
  type Job,
  nowSql,
  type Sql,
  setPolicy,
  T,
} from "../support/kernel.ts";

const noTraces = { keys: 0, payloads: 0, attempts: 0 };

/** Expects leaves without gaps or overlaps from now to seven days ahead, in both branches of a shelf. */
async function expectWeekAhead(db: Sql, keepDays: number): Promise<void> {
  const now = await db.value<Date>(`select ${nowSql}`);
  const all = await leaves(db);
  for (const branch of ["finished_jobs", "dead_jobs"]) {
    const shelf = all.filter((leaf) => leaf.branch === branch && leaf.keep_days === keepDays);
    const ahead = shelf.filter((leaf) => leaf.to_at > now);
    expect(ahead[0]?.from_at.getTime(), `${branch} now`).toBeLessThanOrEqual(now.getTime());
    expect(ahead.at(-1)?.to_at.getTime(), `${branch} ahead`).toBeGreaterThanOrEqual(
      now.getTime() + 7 * 86_400_000,
    );
    for (const [i, leaf] of ahead.entries()) {
      if (i > 0) expect(leaf.from_at).toEqual(ahead[i - 1]?.to_at);
    }
  }
}

/** Returns whether the time is between the bounds of the leaf. */
function covers(leaf: Leaf, at: Date | null): boolean {
  return at !== null && leaf.from_at <= at && at < leaf.to_at;
}

describe("leaves", () => {
  test("of the next seven days exist before the first job finishes", async ({ db }) => {
    await expectWeekAhead(db, 30);
  });

  test("are created seven days ahead by maintenance, for every retention in use, as time passes", async ({
    db,
  }) => {
    await setPolicy(db, "short", { retention_days: 1 });
    await setPolicy(db, "long", { retention_days: 365 });
    for (const days of [0, 3, 6, 7, 16, 60]) {
      await db.travel(`${days} days`);
      await makeLeaves(db);
      for (const keep of [1, 30, 365]) await expectWeekAhead(db, keep);
    }
    expect((await leaves(db)).length, "leaves of three shelves").toBeLessThan(80);
  });

  test("that exist are not created again", async ({ db }) => {
    const before = await leaves(db);
    expect((await maintain(db)).leaves).toBe(0);
    expect(await leaves(db)).toEqual(before);
  });

  test("hold the jobs that finished in their time span, with failed and dead jobs in a separate branch", async ({
    db,
  }) => {
    for (const days of [0, 5, 11]) {
      await db.travel(`${days} days`);
      const succeeded = await runJob(db);
      const failed = await runJob(db, {}, "failed");
      const dead = await runJob(db, {}, "dead");
      const canceled = await enqueue(db);
      await cancel(db, canceled.id);
      for (const [{ id }, branch] of [
        [succeeded, "finished_jobs"],
        [canceled, "finished_jobs"],
        [failed, "dead_jobs"],
        [dead, "dead_jobs"],
      ] as const) {
        const leaf = await leafOf(db, id);
        expect(leaf).toMatchObject({ branch, keep_days: 30 });
        expect(covers(leaf, (await find(db, id)).finished_at)).toBe(true);
      }
      await makeLeaves(db);
    }
  });
});

describe("a job that finishes does not wait for a leaf:", () => {
  test("a job that finishes long after the last maintenance is stored, shown, listed and deleted like any other", async ({
    db,
  }) => {
    await db.travel("400 days");
    const succeeded = await runWithTraces(db, { idempotency_key: "far" });
    const dead = await runWithTraces(db, { idempotency_key: "far too" }, "dead");
    const ids = [succeeded, dead];
    await maintain(db);
    const [job] = await db.query<Job>("select * from jobforge_get_job($1, $2)", [succeeded, T]);
    expect(job).toMatchObject({ status: "succeeded", payload: largePayload, attempts: 2 });
    const listed = await db.query<Job>("select * from jobforge_list_jobs($1)", [T]);
    expect(listed.map(({ id }) => id)).toEqual(ids.toReversed());
    expect((await enqueue(db, { idempotency_key: "far" })).outcome).toBe("existing");

    await db.travel("429 days");
    await maintainAll(db);
    expect(await remembered(db, ids)).toEqual(ids);
    await db.travel("480 days");
    await maintainAll(db);
    expect(await remembered(db, ids)).toEqual([]);
    expect(await tracesOf(db, ids)).toEqual(noTraces);
  });

  test("a job that finishes before maintenance has created the shelf of its new retention is deleted in time, and so are later jobs", async ({
    db,
  }) => {
    await setPolicy(db, "short", { retention_days: 1 });
    const early = await runWithTraces(db, { type: "short", idempotency_key: "early" });
    await maintain(db);
    const later = await runWithTraces(db, { type: "short", idempotency_key: "later" });
    const kept = await runWithTraces(db, { type: "usual", idempotency_key: "usual" });
    await db.travel("6 days");
    await maintainAll(db);
    expect(await remembered(db, [early, later, kept])).toEqual([kept]);
    expect(await tracesOf(db, [early, later])).toEqual(noTraces);
  });
});

describe("each type has its own retention:", () => {
  test("its jobs are on their own shelf", async ({ db }) => {
    const days = { day: 1, month: 30, year: 365, usual: null };
    for (const [type, retention_days] of Object.entries(days)) await setPolicy(db, type, { retention_days });
    await makeLeaves(db);
    const ids: string[] = [];
    for (const [type, retention_days] of Object.entries(days)) {
      const { id } = await runJob(db, { type });
      const dead = await runJob(db, { type }, "dead");
      expect(await leafOf(db, id)).toMatchObject({
        keep_days: retention_days ?? 30,
        branch: "finished_jobs",
      });
      expect(await leafOf(db, dead.id)).toMatchObject({
        keep_days: retention_days ?? 30,
        branch: "dead_jobs",
      });
      ids.push(id, dead.id);
    }
    await db.travel("6 days");
    await maintainAll(db);
    expect(await remembered(db, ids)).toEqual(ids.slice(2));
    await db.travel("60 days");
    await maintainAll(db);
    expect(await remembered(db, ids)).toEqual(ids.slice(4, 6));
    await db.travel("800 days");
    await maintainAll(db);
    expect(await remembered(db, ids)).toEqual([]);
  });

  test("a changed policy applies to jobs that finish from then on", async ({ db }) => {
    await setPolicy(db, "a", { retention_days: 1 });
    await maintain(db);
    const before = await runJob(db);
    const queued = await enqueue(db);
    await setPolicy(db, "a", { retention_days: 365 });
    await maintain(db);
    await claim(db);
    await complete(db, queued.id);
    expect((await placeOf(db, before.id)).keep_days).toBe(1);
    expect((await placeOf(db, queued.id)).keep_days).toBe(365);
    await db.travel("40 days");
    await maintainAll(db);
    expect(await remembered(db, [before.id, queued.id])).toEqual([queued.id]);
  });
});

describe("a leaf that is older than its retention", () => {
  for (const end of ["succeeded", "dead"] as const) {
    test(`is cleared in bounded slices, then dropped, without younger jobs: ${end} jobs`, async ({ db }) => {
      const old: string[] = [];
      for (let i = 0; i < 25; i += 1) old.push(await runWithTraces(db, { idempotency_key: `old ${i}` }, end));
      const leaf = await leafOf(db, old[0] as string);
      await db.travel("12 days");
      await makeLeaves(db);
      const young = await runWithTraces(db, { idempotency_key: "young" }, end);
      expect((await leafOf(db, young)).name).not.toBe(leaf.name);
      const { id: queued } = await enqueue(db, {
        payload: largePayload,
        idempotency_key: "queued",
        in: "60 days",
      });

      await travelToRetirement(db, leaf, "-1 minute");
      await maintainAll(db);
      expect(await tracesOf(db, old), "a minute too early").toEqual({ keys: 25, payloads: 25, attempts: 25 });
      expect(await remembered(db, old)).toHaveLength(25);

      await travelToRetirement(db, leaf);
      const slices: number[] = [];
      for (let left = 25, calls = 0; left > 0 && calls < 50; calls += 1) {
        await maintain(db, 10);
        const traces = await tracesOf(db, old);
        expect(traces).toEqual({ keys: traces.keys, payloads: traces.keys, attempts: traces.keys });
        if (traces.keys < left) slices.push(left - traces.keys);
        left = traces.keys;
      }
      expect(slices).toEqual([10, 10, 5]);
      await maintainAll(db, 10);
      expect(await db.value("select to_regclass($1)", [`jobforge.${leaf.name}`]), "the leaf").toBeNull();
      expect(await remembered(db, [...old, young, queued])).toEqual([young, queued]);
      expect(await tracesOf(db, [young])).toEqual({ keys: 1, payloads: 1, attempts: 1 });
      expect((await find(db, young)).payload).toEqual(largePayload);
      expect(await attemptsOf(db, young)).toHaveLength(2);
      expect(await tracesOf(db, [queued])).toEqual({ keys: 1, payloads: 1, attempts: 0 });
    });
  }

  test("frees the idempotency keys of its jobs, and not before", async ({ db }) => {
    const { id } = await runJob(db, { idempotency_key: "once" });
    const leaf = await leafOf(db, id);
    await travelToRetirement(db, leaf, "-1 second");
    await maintainAll(db);
    expect(await enqueue(db, { idempotency_key: "once" })).toMatchObject({ id, outcome: "existing" });
    await travelToRetirement(db, leaf);
    await maintainAll(db);
    const anew = await enqueue(db, { idempotency_key: "once" });
    expect(anew.outcome).toBe("created");
    expect(anew.id).not.toBe(id);
    expect(await enqueue(db, { idempotency_key: "once" })).toMatchObject({
      id: anew.id,
      outcome: "existing",
    });
  });
});
