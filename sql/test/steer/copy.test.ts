/** jobforge_copy_job: a new job like another one. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  claim,
  complete,
  type Enqueued,
  enqueue,
  expectError,
  fail,
  find,
  reschedule,
  type Sql,
  setPolicy,
  T,
  U,
  unknownId,
} from "../support/kernel.ts";
import { boundLogin } from "../support/tenants.ts";

async function copy(db: Sql, id: string, changes: object = {}, tenant: string | null = T): Promise<Enqueued> {
  return await db.value<Enqueued>("select jobforge_copy_job($1, $2, $3)", [
    id,
    tenant,
    JSON.stringify(changes),
  ]);
}

const source = {
  type: "mail",
  payload: { to: "ada", id: 1 },
  priority: 3,
  tags: ["a"],
  subject: "order-1",
  concurrency_key: "c",
  max_attempts: 2,
  idempotency_key: "once",
  dedupe_key: "d",
};
const same = {
  tenant_id: T,
  type: "mail",
  payload: { to: "ada", id: 1 },
  priority: 3,
  tags: ["a"],
  subject: "order-1",
  concurrency_key: "c",
  max_attempts: 2,
  status: "queued",
  attempts: 0,
  idempotency_key: null,
  dedupe_key: null,
};

test("a copy has the job's values and none of its keys, whatever the status of the job", async ({ db }) => {
  const { id } = await enqueue(db, source);
  const copies = [await copy(db, id)];
  await claim(db, "w1", { limit: 1 });
  copies.push(await copy(db, id));
  await fail(db, id);
  await reschedule(db, id, { max_attempts: 7 });
  await db.query("select jobforge_cancel_job($1, $2)", [id, T]);
  copies.push(await copy(db, id));
  for (const made of copies)
    expect(made).toMatchObject({ ...same, max_attempts: made === copies[2] ? 7 : 2 });
  expect(new Set([id, ...copies.map((made) => made.id)]).size).toBe(4);
  expect((await find(db, id)).status).toBe("canceled");
  const audited = await db.query(
    "select entity_id, meta ->> 'copied_from' as source from jobforge_audit_log where action = 'JOB_COPIED' order by id",
  );
  expect(audited).toEqual(copies.map((made) => ({ entity_id: made.id, source: id })));
});

test("a copy of a job that was run again has the attempts that the job was made with", async ({ db }) => {
  const { id } = await enqueue(db, { max_attempts: 1 });
  await claim(db);
  await fail(db, id);
  await reschedule(db, id);
  await claim(db);
  await complete(db, id);
  expect((await find(db, id)).max_attempts).toBe(2);
  expect(await copy(db, id)).toMatchObject({ max_attempts: 1 });
});

test("a copy has the changes instead, by the rules of an enqueue", async ({ db }) => {
  const { id } = await enqueue(db, source);
  const changes = { payload: { to: "grace" }, priority: -1, tags: ["b"], max_attempts: 9 };
  const made = await copy(db, id, { ...changes, run_at: "2999-01-01T00:00:00Z" });
  expect(made).toMatchObject({ ...same, ...changes, run_at: "2999-01-01T00:00:00+00:00" });
  expect(await copy(db, id, { payload: [1], tags: null, run_at: null })).toMatchObject({
    tags: ["a"],
    payload: [1],
  });
  const large = { payload: { text: "x".repeat(5000) } };
  expect(await copy(db, (await copy(db, id, large)).id)).toMatchObject(large);
  await setPolicy(db, "mail", { max_priority: 5 });
  expect(await copy(db, id, { priority: 50 })).toMatchObject({ priority: 5 });
  for (const [wrong, field] of [
    [{ type: "b" }, "changes"],
    [[], "changes"],
    [{ tags: "a" }, "tags"],
    [{ priority: "x" }, "priority"],
    [{ max_attempts: 0 }, "max_attempts"],
    [{ run_at: "then" }, "run_at"],
  ] as const)
    await expectError(copy(db, id, wrong), "JF002", field);
  await expectError(copy(db, id, { payload: "x".repeat(2_000_000) }), "JF008", "payload");
});

test("a tenant copies its own jobs only, within its quota", async ({ db }) => {
  const { id } = await enqueue(db, source);
  const { id: foreign } = await enqueue(db, { tenant_id: U });
  const tenant = await boundLogin(db, T, "jobforge_tenant");
  expect(await copy(tenant, id)).toMatchObject(same);
  expect(await copy(tenant, foreign)).toBeNull();
  expect(await copy(db, unknownId)).toBeNull();
  await expectError(copy(tenant, foreign, {}, U), "42501");
  await expectError(copy(db, id, {}, null), "JF001");
  await db.query("select jobforge_set_tenant($1, '{\"max_pending\": 2}')", [T]);
  await expectError(copy(tenant, id), "JF007");
});

test("a run of a schedule is copied as a job of its own", async ({ db }) => {
  await db.query(`select jobforge_ensure_schedule($1, 'tidy', 'k', '{"every": "1h", "payload": {"n": 1}}')`, [
    T,
  ]);
  await db.query("select jobforge_run_schedule($1, 'tidy', 'k')", [T]);
  const [run] = await claim(db, "w1", { types: ["tidy"] });
  expect(await copy(db, run?.id ?? "")).toMatchObject({ type: "tidy", payload: { n: 1 }, schedule_id: null });
});
