/** Invalid reports: how they are settled, and that they never harm the other reports of their call. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claim, countJobs, enqueue, enqueueAll, find, gapOf } from "../support/kernel.ts";
import { claimAll, outcomes, type Report, type Settlement, settle, success } from "../support/settle.ts";

/** Builds a report about the job with exactly one error. */
type Bad = (id: string) => unknown;

const notAnEnd: Record<string, Bad> = {
  "no id": () => ({ attempt: 1, status: "succeeded" }),
  "a null id": () => ({ id: null, attempt: 1, status: "succeeded" }),
  "a number as id": () => ({ id: 5, attempt: 1, status: "succeeded" }),
  "an object as id": (id) => ({ id: { id }, attempt: 1, status: "succeeded" }),
  "a malformed uuid": (id) => ({ id: `${id}0`, attempt: 1, status: "succeeded" }),
  "no status": (id) => ({ id, attempt: 1 }),
  "a null status": (id) => ({ id, attempt: 1, status: null }),
  "an unknown status": (id) => ({ id, attempt: 1, status: "done" }),
  "the status of a lost run": (id) => ({ id, attempt: 1, status: "lost" }),
  "a status in capitals": (id) => ({ id, attempt: 1, status: "SUCCEEDED" }),
  "an object as status": (id) => ({ id, attempt: 1, status: { status: "succeeded" } }),
  "a text as attempt": (id) => ({ id, attempt: "first", status: "succeeded" }),
  "a negative attempt": (id) => ({ id, attempt: -1, status: "succeeded" }),
  "a fraction as attempt": (id) => ({ id, attempt: 1.5, status: "succeeded" }),
  "an attempt out of range": (id) => ({ id, attempt: 99_999_999_999, status: "succeeded" }),
  "null instead of a report": () => null,
  "a text instead of a report": (id) => id,
  "a number instead of a report": () => 5,
  "a boolean instead of a report": () => true,
  "an empty array instead of a report": () => [],
  "a report inside an array": (id) => [success(id)],
  "an empty report": () => ({}),
};

test.for(Object.keys(notAnEnd))(
  "%s is stale, changes no job and harms no other report",
  async (name, { db }) => {
    const [before, about, after] = await enqueueAll(db, [{}, {}, {}]);
    await claimAll(db);
    const answer = await settle(db, [success(before), notAnEnd[name]?.(about), success(after)]);
    expect(outcomes(answer)).toEqual(["ok", "stale", "ok"]);
    expect(await find(db, about)).toMatchObject({ status: "running", attempts: 1 });
    expect(await find(db, before)).toMatchObject({ status: "succeeded" });
    expect(await find(db, after)).toMatchObject({ status: "succeeded" });
  },
);

const mebibyte = "x".repeat(1_048_576);

const unkeepable: Record<string, Report> = {
  "a result over 1 MiB": { result: mebibyte },
  "a reference over 4096 bytes": { artifact_ref: "x".repeat(4097) },
  "children that are not an array": { children: { type: "child" } },
  "a child that is not an object": { children: ["child"] },
  "a child without a type": { children: [{ type: "good" }, { payload: {} }] },
  "a child with an unknown key": { children: [{ type: "good" }, { type: "child", tenant_id: "x" }] },
  "a child with an invalid time": { children: [{ type: "child", run_at: "soon" }] },
  "a child with a payload over 1 MiB": { children: [{ type: "child", payload: mebibyte }] },
};

test.for(Object.keys(unkeepable))(
  "a success with %s fails permanently with the reason, creates no children and harms no other report",
  async (name, { db }) => {
    const [before, about, after] = await enqueueAll(db, [{}, {}, {}]);
    await claimAll(db);
    const call = [success(before), success(about, unkeepable[name]), success(after)];
    const answer = await settle(db, call);
    expect(outcomes(answer)).toEqual(["ok", "ok", "ok"]);
    expect(answer.settled.map((row) => row.status)).toEqual(["succeeded", "failed", "succeeded"]);
    expect(await find(db, about)).toMatchObject({
      status: "failed",
      reason: "refused",
      error: { name: "InvalidResult", message: expect.any(String) },
      result_id: null,
    });
    expect(await countJobs(db)).toBe(3);
    expect(outcomes(await settle(db, call))).toEqual(["already", "already", "already"]);
  },
);

test.for(["failed", "deferred", "released"])(
  "a run that ends as %s keeps that end, even if its result or children are invalid",
  async (status, { db }) => {
    const ids = await enqueueAll(
      db,
      Object.keys(unkeepable).map(() => ({})),
    );
    await claimAll(db);
    const answer = await settle(
      db,
      Object.values(unkeepable).map((more, n) => ({ ...more, id: ids[n], attempt: 1, status, error: "why" })),
    );
    expect(answer.settled.map((row) => row.status)).toEqual(ids.map(() => "queued"));
    if (status === "failed") for (const id of ids) expect((await find(db, id)).last_error).toBe("why");
    expect(await countJobs(db)).toBe(ids.length);
  },
);

test.for<[string, Report]>([
  ["negative", { cost_cents: -1 }],
  ["a fraction", { cost_cents: 1.5 }],
  ["a text", { cost_cents: "much" }],
  ["out of range", { cost_cents: 1e15 }],
])("a cost that is %s is ignored, and the run ends as reported", async ([, more], { db }) => {
  const { id } = await enqueue(db);
  await claim(db);
  expect((await settle(db, [success(id, more)])).settled).toMatchObject([
    { outcome: "ok", status: "succeeded" },
  ]);
  expect(await find(db, id)).toMatchObject({ status: "succeeded", cost_cents: null });
});

test.for(["soon", "infinity", 5, {}, null])(
  "a deferral until %j, which is not a valid time, is due at once",
  async (run_at, { db }) => {
    const { id } = await enqueue(db);
    await claim(db);
    const answer = await settle(db, [{ id, attempt: 1, status: "deferred", run_at }], { claim: 1 });
    expect(answer.settled).toMatchObject([{ outcome: "ok", status: "queued" }]);
    expect(answer.jobs).toMatchObject([{ id, attempts: 2 }]);
  },
);

test.for(["soon", "-infinity", 5, [], null])(
  "a retry at %j, which is not a valid time, comes after the usual backoff",
  async (retry_at, { db }) => {
    const { id } = await enqueue(db);
    await claim(db);
    const answer = await settle(db, [{ id, attempt: 1, status: "failed", error: "x", retry_at }]);
    expect(answer.settled).toMatchObject([{ outcome: "ok", status: "queued" }]);
    expect(await gapOf(db, id)).toBe(1);
  },
);

test.for<[string, unknown, string]>([
  ["a text", "boom", "boom"],
  ["a number", 5, "without saying why"],
  ["an array", ["boom"], "without saying why"],
  ["nothing", null, "without saying why"],
  ["very long", { message: "m".repeat(100_000), stack: mebibyte }, "mmm"],
])(
  "an error that is %s is kept as an object with a message, and its size is bounded",
  async ([, error, message], { db }) => {
    const { id } = await enqueue(db);
    await claim(db);
    expect(outcomes(await settle(db, [{ id, attempt: 1, status: "failed", error }]))).toEqual(["ok"]);
    const job = await find(db, id);
    expect(job.last_error).toContain(message);
    expect(JSON.stringify(job.error).length).toBeLessThan(20_000);
  },
);

test("a thousand reports, of which every second is invalid, end five hundred runs, in order", async ({
  db,
}) => {
  await db.query(
    "select jobforge_enqueue_jobs($1, (select jsonb_agg(jsonb_build_object('type', 'a')) from generate_series(1, 500)))",
    ["11111111-1111-4111-8111-111111111111"],
  );
  const ids = (await claim(db, "w1", { limit: 500 })).map((job) => job.id);
  const nonsense = Object.values(notAnEnd).filter((bad) => bad.length === 0);
  const call = ids.flatMap((id, n) => [success(id), nonsense[n % nonsense.length]?.(id)]);
  const answer = await settle(db, call);
  expect(answer.settled.filter((row) => row.outcome === "ok").map((row) => row.id)).toEqual(ids);
  expect(outcomes(answer)).toEqual(ids.flatMap(() => ["ok", "stale"]));
  expect(await db.value("select count(*)::int from jobforge_jobs where status = 'succeeded'")).toBe(500);
});

test("an error that Postgres cannot print is shortened, and harms no other report", async ({ db }) => {
  const [before, about, after] = await enqueueAll(db, [{}, {}, {}]);
  await claimAll(db);
  // Its text would have 1.3 GB.
  const numbers = `[${Array(10_000).fill("1e131071").join()}]`;
  const error = `{"name":"Large","message":"too much","numbers":${numbers},"stack":${numbers}}`;
  const reports = `[${JSON.stringify(success(before))},
    {"id":"${about}","attempt":1,"status":"failed","error":${error}}, ${JSON.stringify(success(after))}]`;
  const answer = await db.value<Settlement>("select jobforge_settle_jobs('w1', $1)", [reports]);
  expect(outcomes(answer)).toEqual(["ok", "ok", "ok"]);
  expect((await find(db, about)).error).toEqual({
    name: "Large",
    message: "too much",
    truncated: true,
    attemptedAt: expect.any(String),
  });
});
