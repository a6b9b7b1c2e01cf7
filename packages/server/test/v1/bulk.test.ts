/** /v1/bulk. */
import { expect } from "vitest";
import { test } from "../support/client.ts";

test("bulk changes return how many jobs matched and how many changed", async ({ app, db }) => {
  await app("/v1/bulk/enqueue", {
    body: { jobs: [{ type: "a" }, { type: "a" }, { type: "b", max_attempts: 1 }] },
  });
  await db.query(
    "select jobforge_complete_job(id, 'w', 'failed') from jobforge_claim_jobs('w', 1, array['b'])",
  );
  expect((await app("/v1/bulk/cancel", { body: { filters: { type: ["a"] } } })).body).toMatchObject({
    matched: 2,
    changed: 2,
  });
  expect((await app("/v1/bulk/reschedule", { body: { filters: { status: "dead" } } })).body).toMatchObject({
    matched: 1,
    changed: 1,
  });
  expect(await app("/v1/bulk/cancel", { body: { filters: {} } })).toMatchObject({
    status: 400,
    body: { code: "JF002" },
  });
});

test("an operation by ids goes on with its cursor, and says its entry in the audit log", async ({
  app,
  operator,
}) => {
  const { body } = await app("/v1/bulk/enqueue", {
    body: { jobs: [{ type: "a" }, { type: "a" }, { type: "a" }] },
  });
  const ids = (body as { items: { id: string }[] }).items.map((item) => item.id);
  const operation = "aaaaaaaa-0000-4000-8000-000000000001";
  const call = { filters: { ids }, limit: 2, operation };
  const first = await app("/v1/bulk/cancel", { body: call });
  expect(first.body).toMatchObject({ matched: 2, changed: 2, total: { changed: 2 }, cursor: ids[1] });
  const { cursor, audit_id } = first.body as { cursor: string; audit_id: number };
  const second = await app("/v1/bulk/cancel", { body: { ...call, cursor } });
  expect(second.body).toMatchObject({
    matched: 1,
    total: { matched: 3, changed: 3 },
    cursor: null,
    audit_id,
  });
  // Without an operation, an operator that names no tenant changes nothing.
  expect(await operator("/v1/bulk/purge", { body: { filters: { ids } } })).toMatchObject({ status: 400 });
  expect(
    (await operator("/v1/bulk/purge", { body: { filters: { ids }, operation: ids[0] } })).body,
  ).toMatchObject({
    changed: 3,
  });
});
