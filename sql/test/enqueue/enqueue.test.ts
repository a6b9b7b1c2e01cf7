import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  claim,
  codeOf,
  complete,
  countJobs,
  enqueue,
  enqueueAll,
  expectError,
  find,
  globalTenant,
  heartbeat,
  type NewJob,
  nowSql,
  setPolicy,
  T,
} from "../support/kernel.ts";

const mebibyte = 1024 * 1024;

test("a job without options is due now and has five attempts", async ({ db }) => {
  await db.query("create temp table before as select clock_timestamp() as at");
  const job = await enqueue(db, { payload: { x: 1 } });
  expect(job).toMatchObject({
    tenant_id: T,
    type: "a",
    payload: { x: 1 },
    status: "queued",
    attempts: 0,
    max_attempts: 5,
    priority: 0,
    tags: [],
    outcome: "created",
    cancel_requested: false,
    finished_at: null,
    locked_by: null,
    error: null,
  });
  expect(
    await db.query(
      "select b.at <= j.run_at and j.run_at <= clock_timestamp() as now from before b, jobforge_jobs j",
    ),
  ).toEqual([{ now: true }]);
});

test("the result has every column of jobforge_jobs, and the outcome", async ({ db }) => {
  const job = await enqueue(db, { in: "1 hour", tags: ["x"], subject: "s" });
  const row = await db.value<Record<string, unknown>>("select to_jsonb(j) from jobforge_jobs j");
  expect(job).toEqual({ ...row, outcome: "created" });
});

test("every option is kept", async ({ db }) => {
  const asked: NewJob = {
    payload: { a: [1, { b: null }] },
    idempotency_key: "key",
    max_attempts: 9,
    priority: -7,
    dedupe_key: "one",
    tags: ["red", "green"],
    subject: "feed 1",
    concurrency_key: "host",
    traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  };
  const { id } = await enqueue(db, { ...asked, in: "1 hour", expires_in: "2 hours" });
  expect(await find(db, id)).toMatchObject(asked);
  expect(
    await db.value("select extract(epoch from expires_at - run_at)::int from jobforge_jobs where id = $1", [
      id,
    ]),
  ).toBe(3600);
});

test("explicit nulls mean the defaults", async ({ db }) => {
  const job = await enqueue(db, {
    raw_payload: null,
    idempotency_key: null,
    run_at: null,
    max_attempts: null,
    priority: null,
    dedupe_key: null,
    dedupe_mode: null,
    tags: null,
    subject: null,
    concurrency_key: null,
    expires_at: null,
    traceparent: null,
    notify: null,
  });
  expect(job).toMatchObject({
    payload: {},
    max_attempts: 5,
    priority: 0,
    tags: [],
    status: "queued",
    outcome: "created",
  });
  expect(await claim(db)).toMatchObject([{ id: job.id }]);
});

test("the type's policy sets max_attempts unless the caller does, and caps the priority", async ({ db }) => {
  await setPolicy(db, "a", { max_attempts: 7, max_priority: 3 });
  expect(await enqueue(db, { priority: 9 })).toMatchObject({ max_attempts: 7, priority: 3 });
  expect(await enqueue(db, { priority: 2, max_attempts: 1 })).toMatchObject({ max_attempts: 1, priority: 2 });
  expect(await enqueue(db, { type: "b", priority: 9 })).toMatchObject({ max_attempts: 5, priority: 9 });
});

test("a job needs a tenant, and the nil UUID is the tenant of work that belongs to no tenant", async ({
  db,
}) => {
  const error = await expectError(enqueue(db, { tenant_id: null }), "JF001", "tenant_id");
  expect(error).toMatchObject({ message: "tenant_id is required", name: "tenant_required" });
  expect(error.hint).toContain(globalTenant);
  expect(await countJobs(db)).toBe(0);
  expect(await enqueue(db, { tenant_id: globalTenant })).toMatchObject({
    tenant_id: globalTenant,
    outcome: "created",
  });
});

const refused: readonly (readonly [string, NewJob])[] = [
  ["type", { type: null }],
  ["type", { type: "" }],
  ["type", { type: "   " }],
  ["type", { type: "x".repeat(201) }],
  ["type", { type: "*" }],
  ["max_attempts", { max_attempts: 0 }],
  ["max_attempts", { max_attempts: -1 }],
  ["max_attempts", { max_attempts: 2_147_483_647 }],
  ["priority", { priority: 2_147_483_647 }],
  ["priority", { priority: -2_147_483_648 }],
  ["run_at", { run_at: "infinity" }],
  ["run_at", { run_at: "-infinity" }],
  ["run_at", { run_at: "10000-01-01 UTC" }],
  ["run_at", { run_at: "0001-01-01 BC" }],
  ["expires_at", { expires_at: "infinity" }],
  ["expires_at", { expires_at: "-infinity" }],
  ["expires_at", { expires_at: "200000-01-01 UTC" }],
  ["expires_at", { expires_in: "-1 second" }],
  ["expires_at", { in: "2 hours", expires_in: "1 hour" }],
  ["idempotency_key", { idempotency_key: "" }],
  ["idempotency_key", { idempotency_key: "é".repeat(513) }],
  ["dedupe_key", { dedupe_key: "" }],
  ["dedupe_key", { dedupe_key: "x".repeat(1025) }],
  ["dedupe_mode", { dedupe_key: "d", dedupe_mode: "merge" }],
  ["subject", { subject: "" }],
  ["concurrency_key", { concurrency_key: "" }],
  ["tags", { tags: [""] }],
  ["tags", { tags: ["a", null] }],
  ["tags", { tags: Array.from({ length: 51 }, (_, i) => `t${i}`) }],
  ["traceparent", { traceparent: "not a header" }],
];

test("invalid arguments are refused, the error names the field, and no row is left behind", async ({
  db,
}) => {
  for (const [field, job] of refused) {
    const error = await expectError(enqueue(db, job), "JF002", field);
    expect(error).toMatchObject({ name: "invalid_argument", message: expect.stringContaining(field) });
  }
  expect(await countJobs(db)).toBe(0);
});

test("the longest names and keys fit, and keys in any script", async ({ db }) => {
  const random = (length: number): string =>
    Array.from({ length }, () => String.fromCodePoint(0x10000 + Math.floor(Math.random() * 0xffff))).join("");
  const job = {
    type: "t".repeat(200),
    idempotency_key: random(256),
    dedupe_key: random(256),
    subject: random(256),
    concurrency_key: random(256),
    priority: 100,
    max_attempts: 100_000,
    tags: Array.from({ length: 50 }, (_, i) => `${i}`),
  };
  const { id } = await enqueue(db, job);
  expect(await claim(db, random(256))).toMatchObject([{ id, ...job }]);
});

test("a payload may be any JSON value and stays unchanged from the enqueue to the archive", async ({
  db,
}) => {
  const payloads: Record<string, unknown> = {
    "an array": [1, "two", null, { three: 3 }],
    "an empty array": [],
    "a string": "text",
    "a number": 12.5,
    "a boolean": false,
    "JSON null": null,
    "an empty object": {},
    "text in many scripts": { ключ: '日本語 🦀 \u0001 \\ " \u2028', nested: { "": "é" } },
    "2 kB, which are stored separately": { text: "x".repeat(2_000) },
    "100 kB that do not compress": Array.from({ length: 8_000 }, () => Math.random()),
  };
  for (const [kind, payload] of Object.entries(payloads)) {
    const job = await enqueue(db, { payload });
    expect(job.payload, kind).toEqual(payload);
    expect((await find(db, job.id)).payload, kind).toEqual(payload);
    expect((await claim(db))[0]?.payload, kind).toEqual(payload);
    await complete(db, job.id);
    expect((await find(db, job.id)).payload, kind).toEqual(payload);
  }
  const listed = await db.query("select payload from jobforge_list_jobs($1)", [T]);
  expect(listed.map((row) => row["payload"])).toEqual(Object.values(payloads).reverse());
});

test("a payload of exactly 1 MiB is accepted, one more byte is refused", async ({ db }) => {
  const most = "x".repeat(mebibyte - 2);
  const job = await enqueue(db, { payload: most });
  expect((await claim(db))[0]?.payload).toBe(most);
  const error = await expectError(enqueue(db, { payload: `${most}x` }), "JF008", "payload");
  expect(error.name).toBe("payload_too_large");
  expect(error.hint).toContain("reference");
  await complete(db, job.id);
  expect((await find(db, job.id)).payload).toBe(most);
  expect(await countJobs(db)).toBe(1);
});

test("the cap counts the text that readers get, so long numbers do not get around it", async ({ db }) => {
  // Nine numbers of 130,000 digits take 100 bytes in storage.
  await expectError(
    enqueue(db, { raw_payload: `[${Array(9).fill("1e130000").join()}]` }),
    "JF008",
    "payload",
  );
  expect(await countJobs(db)).toBe(0);
});

test("the cap counts the text that readers get, so a compressed column does not get around it", async ({
  db,
}) => {
  await db.query("create table document (body jsonb)");
  await db.query("insert into document values (to_jsonb(repeat('x', $1)))", [2 * mebibyte]);
  await expectError(
    db.query("select jobforge_enqueue_job($1, 'a', body) from document", [T]),
    "JF008",
    "payload",
  );
  const { id } = await enqueue(db);
  await claim(db);
  await expectError(
    db.query("select jobforge_complete_job($1, 'w1', 'succeeded', p_result => body) from document", [id]),
    "JF008",
    "result",
  );
  expect(await find(db, id)).toMatchObject({ status: "running" });
});

test("the database refuses a zero byte, which harms neither job nor run", async ({ db }) => {
  expect(await codeOf(enqueue(db, { raw_payload: '{"x": "\\u0000"}' }))).toBe("22P05");
  const { id } = await enqueue(db);
  await claim(db);
  expect(await codeOf(complete(db, id, { result: "\u0000" }))).toBe("22P05");
  expect(await find(db, id)).toMatchObject({ status: "running", locked_by: "w1" });
  expect(await complete(db, id)).toMatchObject({ status: "succeeded" });
});

test("a job enqueued in a transaction exists when it commits, and never when it rolls back", async ({
  db,
}) => {
  const other = await db.connect();
  await db.query("begin");
  await enqueue(db, { idempotency_key: "k", dedupe_key: "d" });
  expect(await claim(other)).toEqual([]);
  await db.query("rollback");
  expect(await countJobs(db)).toBe(0);
  await db.query("begin");
  await db.query("savepoint s");
  await enqueue(db, { idempotency_key: "k", dedupe_key: "d" });
  await db.query("rollback to s");
  const kept = await enqueue(db, { idempotency_key: "k", dedupe_key: "d" });
  expect(kept.outcome).toBe("created");
  await db.query("commit");
  expect(await claim(other)).toMatchObject([{ id: kept.id }]);
});

test.for(["read committed", "repeatable read", "serializable"])(
  "enqueue works in a transaction with isolation level %s",
  async (level, { db }) => {
    await db.query(`begin isolation level ${level}`);
    const first = await enqueue(db, { idempotency_key: "k", dedupe_key: "d" });
    const again = await enqueue(db, { idempotency_key: "k", dedupe_key: "d" });
    const replaced = await enqueue(db, { dedupe_key: "d", dedupe_mode: "replace", payload: { n: 2 } });
    expect([again.id, again.outcome]).toEqual([first.id, "existing"]);
    expect([replaced.id, replaced.outcome]).toEqual([first.id, "replaced"]);
    await db.query("commit");
    expect(await claim(db)).toMatchObject([{ id: first.id, payload: { n: 2 } }]);
  },
);

test("jobs of one transaction keep their order, and each is created at the time of its enqueue", async ({
  db,
}) => {
  await db.query("begin");
  const ids = await enqueueAll(db, [{}, {}, {}]);
  await db.query("commit");
  expect((await claim(db)).map((job) => job.id)).toEqual(ids);
  expect(await db.value("select count(distinct created_at)::int from jobforge_jobs")).toBe(3);
});

test("jobforge.clock_offset moves the kernel's clock in every time it writes", async ({ db }) => {
  await db.travel("10 days");
  const { id } = await enqueue(db);
  await claim(db);
  await heartbeat(db, id);
  await complete(db, id);
  const [row] = await db.query(
    `select run_at > t and created_at > t and started_at > t and finished_at > t and updated_at > t as moved
     from jobforge_jobs, (select ${nowSql} - interval '1 hour' as t) x where id = $1`,
    [id],
  );
  expect(row).toEqual({ moved: true });
});
