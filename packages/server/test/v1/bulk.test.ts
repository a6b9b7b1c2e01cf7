/** /v1/bulk. */
import { expect } from "vitest";
import { clientOf, test } from "../support/client.ts";
import { sign, T } from "../support/server.ts";

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

test("an operation changes exactly what was counted, has one entry with the person, and can be stopped", {
  timeout: 120_000,
}, async ({ app, db, http }) => {
  const person = clientOf(http, await sign({ role: "jobforge_operator", email: "ada@example.com" }));
  const enqueue = (count: number): Promise<unknown> =>
    db.query(
      `select jobforge_enqueue_jobs($1, (
         select jsonb_agg('{"type": "flood"}'::jsonb) from generate_series(1, $2::int)))`,
      [T, count],
    );
  await enqueue(25_000);
  await app("/v1/jobs", { body: { type: "other" } });
  const counted = await person("/v1/bulk/count", { body: { filters: { type: "flood" }, change: "cancel" } });
  expect(counted.body).toMatchObject({
    items: [{ tenant_id: T, type: "flood", status: "queued", jobs: 25_000, exact: true }],
  });
  const [{ counted_at }] = (counted.body as { items: [{ counted_at: string }] }).items;
  const filters = { type: "flood", created_before: counted_at };
  const operation = "aaaaaaaa-0000-4000-8000-000000000002";
  const step = (cursor?: string) =>
    person("/v1/bulk/cancel", { body: { filters, operation, limit: 10_000, cursor } });
  await enqueue(3);
  const first = (await step()).body as { cursor: string; audit_id: number };
  expect(first).toMatchObject({ changed: 10_000, total: { changed: 10_000 } });
  // Stopped here, the others stay as they are.
  const left = await person("/v1/bulk/count", { body: { filters, change: "cancel" } });
  expect(left.body).toMatchObject({ items: [{ jobs: 15_000 }] });
  await enqueue(3);
  const second = (await step(first.cursor)).body as { cursor: string };
  const last = await step(second.cursor);
  expect(last.body).toMatchObject({
    changed: 5000,
    cursor: null,
    audit_id: first.audit_id,
    total: { matched: 25_000, changed: 25_000 },
  });
  const rest = await person("/v1/bulk/count", { body: { filters: { status: "queued" } } });
  expect(rest.body).toMatchObject({
    items: [
      { type: "flood", jobs: 6 },
      { type: "other", jobs: 1 },
    ],
  });
  const entries = (await person("/v1/audit?action=JOBS_CANCELED")).body;
  expect(entries).toMatchObject({
    items: [
      {
        id: first.audit_id,
        actor: "ada@example.com (jobforge_operator)",
        meta: { filters, matched: 25_000, changed: 25_000 },
      },
    ],
  });
  expect(entries["items"]).toHaveLength(1);
});
