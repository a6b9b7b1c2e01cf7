/** Payloads over about 1.5 kB are in a separate table: written once, never moved, deleted with their job. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  largePayload,
  leafOf,
  maintainAll,
  runJob,
  runWithTraces,
  tracesOf,
  travelToRetirement,
} from "../support/archive.ts";
import {
  cancel,
  claim,
  complete,
  enqueue,
  fail,
  find,
  heartbeat,
  type Job,
  reschedule,
  type Sql,
  setPolicy,
  T,
  travelToRun,
} from "../support/kernel.ts";

const largerPayload = { text: largePayload.text.repeat(4) };
const smallPayload = { text: "small" };

/** Returns where a payload is stored: the place and writer of its row, and whether the job's own row has one too. */
async function stored(db: Sql, id: string) {
  const rows = await db.query<{ place: string; writer: string }>(
    "select ctid::text as place, xmin::text as writer from jobforge.payloads where job_id = $1",
    [id],
  );
  const inline = await db.value<boolean>(
    `select bool_or(payload is not null)
     from (select id, payload from jobforge.live_rows union all select id, payload from jobforge.archive) j
     where id = $1`,
    [id],
  );
  return { rows, inline };
}

test("a large payload is stored once, next to the job, and a small one in the job's own row", async ({
  db,
}) => {
  const large = await enqueue(db, { payload: largePayload });
  const small = await enqueue(db, { payload: smallPayload });
  expect(large.payload).toEqual(largePayload);
  expect((await stored(db, large.id)).rows).toHaveLength(1);
  expect((await stored(db, large.id)).inline).toBe(false);
  expect(await stored(db, small.id)).toEqual({ rows: [], inline: true });
});

test("null and empty payloads are small", async ({ db }) => {
  for (const payload of [null, {}, [], "", 0, false]) {
    const { id } = await enqueue(db, { payload });
    expect((await find(db, id)).payload).toEqual(payload);
    expect(await stored(db, id)).toEqual({ rows: [], inline: true });
  }
});

test("a large payload is never rewritten: not by claim, heartbeat, retry, loss, settle, reschedule or cancel", async ({
  db,
}) => {
  const { id } = await enqueue(db, { payload: largePayload, max_attempts: 3 });
  const { id: canceled } = await enqueue(db, { type: "b", payload: largePayload });
  const before = [await stored(db, id), await stored(db, canceled)];
  await cancel(db, canceled);

  await claim(db, "w1");
  await heartbeat(db, id);
  await fail(db, id);
  await travelToRun(db, id);
  await claim(db, "w1");
  await db.travel("1 hour");
  await db.query("select jobforge_maintain()");
  expect((await find(db, id)).status).toBe("queued");
  const [third] = await claim(db, "w1");
  expect(third).toMatchObject({ id, attempts: 3 });
  await fail(db, id);
  expect((await find(db, id)).status).toBe("dead");
  await reschedule(db, id);
  await claim(db, "w1");
  await db.query("select jobforge_settle_jobs('w1', $1)", [
    JSON.stringify([{ id, attempt: 4, status: "succeeded", result: { done: true } }]),
  ]);
  expect((await find(db, id)).status).toBe("succeeded");
  expect([await stored(db, id), await stored(db, canceled)]).toEqual(before);
});

test("every way to read a job returns its large payload", async ({ db }) => {
  const { id } = await enqueue(db, { payload: largePayload, idempotency_key: "k", dedupe_key: "d" });
  const everywhere = async (): Promise<unknown[]> => [
    (await find(db, id)).payload,
    (await db.query<Job>("select * from jobforge_get_job($1, $2)", [id, T]))[0]?.payload,
    (await db.query<Job>("select * from jobforge_list_jobs($1)", [T]))[0]?.payload,
    (await db.query<Job>("select * from jobforge_search_jobs()"))[0]?.payload,
    (await enqueue(db, { idempotency_key: "k" })).payload,
  ];
  const all = [largePayload, largePayload, largePayload, largePayload, largePayload];
  expect(await everywhere(), "queued").toEqual(all);
  const [claimed] = await claim(db, "w1");
  expect(claimed?.payload).toEqual(largePayload);
  expect(await everywhere(), "running").toEqual(all);
  await fail(db, id, { retry_at: new Date(0) });
  const settled = await db.value<{ jobs: Job[] }>("select jobforge_settle_jobs('w1', '[]', 1)");
  expect(settled.jobs[0]).toMatchObject({ id, payload: largePayload });
  await complete(db, id);
  expect(await everywhere(), "succeeded").toEqual(all);
});

test("a replaced payload changes its place with its size", async ({ db }) => {
  const { id } = await enqueue(db, { payload: smallPayload, dedupe_key: "d" });
  const update = async (payload: unknown): Promise<void> => {
    await db.query("select jobforge_update_job($1, $2, $3)", [id, T, JSON.stringify({ payload })]);
  };
  const replace = async (payload: unknown): Promise<void> => {
    const { outcome } = await enqueue(db, { payload, dedupe_key: "d", dedupe_mode: "replace" });
    expect(outcome).toBe("replaced");
  };
  for (const change of [update, replace]) {
    for (const [payload, rows] of [
      [largePayload, 1],
      [largerPayload, 1],
      [smallPayload, 0],
      [largerPayload, 1],
      [[1, 2], 0],
    ] as const) {
      await change(payload);
      expect((await find(db, id)).payload).toEqual(payload);
      expect((await stored(db, id)).rows).toHaveLength(rows);
      expect((await stored(db, id)).inline).toBe(rows === 0);
    }
  }
  await update(largePayload);
  await db.query("select jobforge_update_job($1, $2, $3)", [
    id,
    T,
    JSON.stringify({ priority: 3, tags: ["x"] }),
  ]);
  expect((await find(db, id)).payload).toEqual(largePayload);
  const [claimed] = await claim(db);
  expect(claimed?.payload).toEqual(largePayload);
});

test("a duplicate leaves no payload behind", async ({ db }) => {
  const first = await enqueue(db, { payload: largePayload, idempotency_key: "k", dedupe_key: "d" });
  for (const again of [
    { idempotency_key: "k" },
    { dedupe_key: "d" },
    { idempotency_key: "other", dedupe_key: "d" },
  ]) {
    expect(await enqueue(db, { payload: largerPayload, ...again })).toMatchObject({
      id: first.id,
      outcome: "existing",
    });
  }
  expect(await db.query("select job_id from jobforge.payloads")).toEqual([{ job_id: first.id }]);
  await db.query("begin");
  await enqueue(db, { payload: largerPayload });
  await db.query("rollback");
  expect(await db.query("select job_id from jobforge.payloads")).toEqual([{ job_id: first.id }]);
});

test("a large payload is deleted with its job, and at once if its type keeps no history", async ({ db }) => {
  const kept = await runWithTraces(db, { idempotency_key: "kept" });
  await setPolicy(db, "unkept", { keep_history: false });
  const unkept = await runJob(db, { type: "unkept", payload: largePayload });
  expect(await tracesOf(db, [unkept.id])).toMatchObject({ payloads: 0 });
  await travelToRetirement(db, await leafOf(db, kept), "-1 minute");
  await maintainAll(db);
  expect((await find(db, kept)).payload).toEqual(largePayload);
  await travelToRetirement(db, await leafOf(db, kept));
  await maintainAll(db);
  expect(await db.value("select count(*)::int from jobforge.payloads")).toBe(0);
});

test("a tenant's large payloads are invisible to other tenants", async ({ db }) => {
  const { role, url } = await db.createLogin("jobforge_tenant");
  await db.query("select jobforge_bind_role($1, '22222222-2222-4222-8222-222222222222')", [role]);
  const { id } = await enqueue(db, { payload: largePayload });
  const other = await db.connect(url);
  expect(await other.query("select payload from jobforge_jobs where id = $1", [id])).toEqual([]);
  await expect(other.query("select payload from jobforge.payloads")).rejects.toMatchObject({ code: "42501" });
});
