import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  attemptsOf,
  auditOf,
  claim,
  claimAndFail,
  claimIds,
  enqueue,
  expectError,
  fail,
  find,
  gapOf,
  type Sql,
  setPolicy,
  travelToRun,
} from "../support/kernel.ts";

/** Claims and fails the job until it is dead. Returns the gaps in seconds, to the microsecond. */
async function gapsUntilDead(db: Sql, id: string): Promise<number[]> {
  const { status } = await claimAndFail(db);
  if (status === "dead") return [];
  const gap = await gapOf(db, id);
  await travelToRun(db, id);
  return [gap, ...(await gapsUntilDead(db, id))];
}

/** Fails the job `failures - 1` times without waiting, then once with its backoff. Returns that gap. */
async function gapAfter(db: Sql, id: string, failures: number): Promise<number> {
  for (let n = 1; n < failures; n += 1) await claimAndFail(db, { retry_at: "2020-01-01T00:00:00Z" });
  expect(await claimAndFail(db)).toMatchObject({ status: "queued" });
  return await gapOf(db, id);
}

test.for<[string, number[]]>([
  ["jobforge", [1, 2, 4, 8]],
  ["harmonyk", [1, 2, 4, 8, 16]],
  ["atlas", [10, 20, 40]],
  ["processing", [30, 60, 120, 240]],
])(
  "the preset %s waits %o seconds between the runs, then the job is dead",
  async ([preset, gaps], { db }) => {
    await setPolicy(db, "a", { preset });
    const { id } = await enqueue(db);
    expect(await gapsUntilDead(db, id)).toEqual(gaps);
    expect(await find(db, id)).toMatchObject({
      status: "dead",
      attempts: gaps.length + 1,
      max_attempts: gaps.length + 1,
    });
    expect(await auditOf(db, id)).toEqual(["JOB_EXHAUSTED_RETRIES"]);
  },
);

test("a type without a policy has the preset jobforge, and '*' changes that for all such types", async ({
  db,
}) => {
  const { id } = await enqueue(db);
  expect(await gapsUntilDead(db, id)).toEqual([1, 2, 4, 8]);
  await setPolicy(db, "*", { preset: "atlas" });
  await setPolicy(db, "own", { max_attempts: 2, base_ms: 5_000 });
  await setPolicy(db, "*", { preset: "processing" });
  const [other, own] = [
    await enqueue(db, { type: "other" }),
    await enqueue(db, { type: "own", in: "1 day" }),
  ];
  expect(other.max_attempts).toBe(5);
  expect(await gapsUntilDead(db, other.id)).toEqual([30, 60, 120, 240]);
  await travelToRun(db, own.id);
  expect(await gapsUntilDead(db, own.id)).toEqual([5]);
});

test("a job whose run failed is queued again with its error, without a worker, and the attempt counts", async ({
  db,
}) => {
  const { id } = await enqueue(db);
  await claim(db);
  const ended = await fail(db, id, { error: { message: "first" } });
  const job = await find(db, id);
  expect(ended).toMatchObject({ id, status: "queued" });
  expect(new Date(ended.run_at)).toEqual(job.run_at);
  expect(job).toMatchObject({
    status: "queued",
    attempts: 1,
    locked_by: null,
    locked_at: null,
    heartbeat_at: null,
    finished_at: null,
    last_error: "first",
    reason: null,
  });
});

test("a retry can be claimed from its time on, and not before", async ({ db }) => {
  await setPolicy(db, "a", { preset: "atlas" });
  const { id } = await enqueue(db);
  await claimAndFail(db);
  await db.travel("9 seconds");
  expect(await claim(db)).toEqual([]);
  await travelToRun(db, id);
  expect(await claim(db)).toMatchObject([{ id, attempts: 2, last_error: "boom" }]);
});

test("after the last failure the job is dead, its five attempts are kept and there is nothing to claim", async ({
  db,
}) => {
  const { id } = await enqueue(db);
  await gapsUntilDead(db, id);
  const job = await find(db, id);
  expect(job).toMatchObject({
    status: "dead",
    reason: "exhausted",
    attempts: 5,
    locked_by: null,
    last_error: "boom",
  });
  expect(job.finished_at).toBeInstanceOf(Date);
  expect(job.error).toMatchObject({ message: "boom", attemptedAt: expect.any(String) });
  expect((await attemptsOf(db, id)).map((a) => [a.attempt_no, a.status])).toEqual(
    [1, 2, 3, 4, 5].map((n) => [n, "failed"]),
  );
  await db.travel("2 days");
  expect(await claim(db)).toEqual([]);
});

test("the last failure does not change run_at", async ({ db }) => {
  const { id } = await enqueue(db, { max_attempts: 1 });
  const [claimed] = await claim(db);
  const ended = await fail(db, id);
  expect(ended.status).toBe("dead");
  expect(new Date(ended.run_at)).toEqual(claimed?.run_at);
  expect((await find(db, id)).run_at).toEqual(claimed?.run_at);
});

test("a job with one attempt is dead after its first failure", async ({ db }) => {
  const { id } = await enqueue(db, { max_attempts: 1 });
  expect(await claimAndFail(db)).toMatchObject({ id, status: "dead" });
  expect(await attemptsOf(db, id)).toMatchObject([
    { attempt_no: 1, status: "failed", error: { message: "boom" } },
  ]);
  expect(await auditOf(db, id)).toEqual(["JOB_EXHAUSTED_RETRIES"]);
});

test.for<[string, number, number]>([
  ["jobforge", 12, 2048],
  ["jobforge", 13, 3600],
  ["jobforge", 40, 3600],
  ["harmonyk", 7, 60],
  ["processing", 6, 600],
  ["atlas", 12, 20_480],
])("the preset %s after failure %i waits %i seconds", async ([preset, failures, seconds], { db }) => {
  await setPolicy(db, "a", { preset });
  const { id } = await enqueue(db, { max_attempts: 50 });
  expect(await gapAfter(db, id, failures)).toBe(seconds);
});

test("a backoff without a cap stops growing at a year instead of overflowing", async ({ db }) => {
  // 100^159 is larger than a double can hold: only a clamp before the multiplication keeps it finite.
  await setPolicy(db, "a", { base_ms: 31_536_000_000, cap_ms: null, factor: 100 });
  const { id } = await enqueue(db, { max_attempts: 100_000 });
  expect(await gapAfter(db, id, 160)).toBe(31_536_000);
});

test("base, factor and cap of a policy are used as given", async ({ db }) => {
  await setPolicy(db, "a", { base_ms: 500, factor: 3, cap_ms: 10_000, max_attempts: 6 });
  const { id } = await enqueue(db);
  expect(await gapsUntilDead(db, id)).toEqual([0.5, 1.5, 4.5, 10, 10]);
});

test("a base of zero retries at once", async ({ db }) => {
  await setPolicy(db, "a", { base_ms: 0 });
  const { id } = await enqueue(db);
  await claimAndFail(db);
  expect(await claimIds(db)).toEqual([id]);
});

test("jitter spreads the gap by its share either way", async ({ db }) => {
  await setPolicy(db, "a", { base_ms: 100_000, jitter: 0.2 });
  const gaps: number[] = [];
  for (let n = 0; n < 20; n += 1) {
    const { id } = await enqueue(db);
    await claimAndFail(db);
    gaps.push(await gapOf(db, id));
  }
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(80);
  expect(Math.max(...gaps)).toBeLessThanOrEqual(120);
  expect(new Set(gaps).size).toBeGreaterThan(1);
});

test("a retry time from the handler overrides the backoff, but does not add an attempt", async ({ db }) => {
  const { id } = await enqueue(db, { max_attempts: 3 });
  await claim(db);
  const later = new Date(Date.now() + 3_600_000);
  const ended = await fail(db, id, { retry_at: later });
  expect(new Date(ended.run_at)).toEqual(later);
  expect(await claim(db)).toEqual([]);
  await travelToRun(db, id);
  await claim(db);
  await fail(db, id, { retry_at: "2020-01-01T00:00:00Z" });
  expect(await claimIds(db)).toEqual([id]);
  expect(await fail(db, id, { retry_at: later })).toMatchObject({ status: "dead" });
});

test("a failure with retry false finishes the job as failed, whatever else the handler reports", async ({
  db,
}) => {
  const { id } = await enqueue(db);
  await claim(db);
  const ended = await fail(db, id, { retry: false, retry_at: new Date(Date.now() + 60_000) });
  expect(ended).toMatchObject({ status: "failed" });
  expect(await find(db, id)).toMatchObject({
    status: "failed",
    reason: "refused",
    attempts: 1,
    last_error: "boom",
  });
  await db.travel("1 day");
  expect(await claim(db)).toEqual([]);
});

test("a failure with retry false finishes the job as failed on its last attempt too", async ({ db }) => {
  const { id } = await enqueue(db, { max_attempts: 1 });
  await claim(db);
  expect(await fail(db, id, { retry: false })).toMatchObject({ status: "failed" });
  expect(await auditOf(db, id)).toEqual(["JOB_FAILED"]);
});

test("invalid policies are refused and the old one stays", async ({ db }) => {
  await setPolicy(db, "a", { max_attempts: 3 });
  const refused: [string, unknown][] = [
    ["preset", { preset: "none" }],
    ["preset", { preset: null }],
    ["nope", { nope: 1 }],
    ["base_ms", { base_ms: -1 }],
    ["factor", { factor: 0.5 }],
    ["jitter", { jitter: 2 }],
    ["max_attempts", { max_attempts: 0 }],
    ["max_attempts", { max_attempts: null }],
    ["policy", { max_attempts: 1e12 }],
    ["lease_ms", { lease_ms: 1 }],
    ["policy", { base_ms: "soon" }],
    ["audit_action", { audit_action: "" }],
    ["policy", []],
    ["policy", null],
  ];
  for (const [field, policy] of refused) {
    await expectError(
      db.query("select jobforge_set_policy('a', $1)", [policy && JSON.stringify(policy)]),
      "JF002",
      field,
    );
  }
  for (const type of [null, "", " ", "x".repeat(201)]) {
    await expectError(db.query("select jobforge_set_policy($1, '{}')", [type]), "JF002", "type");
  }
  expect(await enqueue(db)).toMatchObject({ max_attempts: 3 });
});
