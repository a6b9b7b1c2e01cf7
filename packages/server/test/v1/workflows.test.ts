/** /v1/workflows. */
import { expect } from "vitest";
import { drain, refuse } from "../../../../sql/test/support/workflows.ts";
import { test } from "../support/client.ts";

const approval = {
  name: "doc.publish",
  input: { doc: 7 },
  steps: [
    { name: "draft", type: "doc.draft", payload: { doc: { $input: "doc" } } },
    { name: "approve", signal: { timeout_ms: 60_000 }, needs: ["draft"] },
    { name: "publish", type: "doc.publish", payload: { by: { $result: "approve.by" } } },
  ],
};

test("a workflow is started, shown, signaled and listed", async ({ app, db }) => {
  const started = await app("/v1/workflows", {
    method: "POST",
    body: { ...approval, idempotency_key: "k", subject: "doc:7", tags: ["docs"] },
  });
  expect(started).toMatchObject({ status: 201, body: { outcome: "created", status: "running" } });
  const path = `/v1/workflows/${String(started.body["id"])}`;
  const again = await app("/v1/workflows", { method: "POST", body: { ...approval, idempotency_key: "k" } });
  expect(again).toMatchObject({ status: 200, body: { outcome: "existing", id: started.body["id"] } });
  await drain(db);
  expect((await app(path)).body).toMatchObject({
    counts: { succeeded: 1, waiting: 1, blocked: 1 },
    waits: [{ step: "approve", signal: "approve" }],
  });
  expect((await app(`${path}/explain`)).body).toMatchObject({
    items: [{ code: "waits_for_signal", details: { step: "approve" } }, { code: "blocked" }],
    cursor: null,
  });
  const signal = { method: "POST", body: { payload: { by: "ada" }, key: "once" } } as const;
  expect(await app(`${path}/signals/approve`, signal)).toMatchObject({ body: { outcome: "created" } });
  expect(await app(`${path}/signals/approve`, signal)).toMatchObject({ body: { outcome: "existing" } });
  expect(await drain(db)).toEqual(["publish"]);
  expect((await app(path)).body).toMatchObject({ status: "succeeded", output: { from: "publish" } });
  expect((await app(`${path}/steps?kind=signal`)).body).toMatchObject({
    items: [{ path: "approve", status: "succeeded", result: { by: "ada" } }],
    cursor: null,
  });
  expect((await app("/v1/workflows?name=doc.publish&status=succeeded&tags=docs")).body["items"]).toHaveLength(
    1,
  );
  expect((await app("/v1/workflows?subject=doc:8")).body).toEqual({ items: [], cursor: null });
});

test("a workflow is canceled, and one that has ended refuses changes", async ({ app, db }) => {
  const started = await app("/v1/workflows", { method: "POST", body: approval });
  const path = `/v1/workflows/${String(started.body["id"])}`;
  const cancel = { method: "POST", body: { reason: "not needed" } } as const;
  expect(await app(`${path}/cancel`, cancel)).toMatchObject({
    status: 200,
    body: { canceled: 1, requested: 0 },
  });
  expect(await drain(db, () => refuse)).toEqual([]);
  expect((await app(path)).body).toMatchObject({ status: "canceled", cancel_reason: "not needed" });
  expect(await app(`${path}/cancel`, cancel)).toMatchObject({ status: 409, body: { code: "JF011" } });
  expect(await app(`${path}/signals/approve`, { method: "POST", body: {} })).toMatchObject({ status: 409 });
  expect((await app(`${path}/explain`)).body).toMatchObject({ items: [{ code: "canceled" }] });
  const unknown = "/v1/workflows/99999999-9999-4999-8999-999999999999";
  expect(await app(unknown)).toMatchObject({ status: 404 });
  expect(await app(`${unknown}/explain`)).toMatchObject({ status: 404 });
});

test("what ended badly runs again, or is resolved by hand", async ({ app, db }) => {
  const steps = [
    { name: "a", type: "t" },
    { name: "b", type: "t", needs: ["a"] },
  ];
  const started = await app("/v1/workflows", { method: "POST", body: { name: "w", steps } });
  const path = `/v1/workflows/${String(started.body["id"])}`;
  expect(await app(`${path}/retry`, { method: "POST", body: {} })).toMatchObject({
    status: 409,
    body: { code: "JF012" },
  });
  await drain(db, () => refuse);
  const retried = await app(`${path}/retry`, { method: "POST", body: {} });
  expect(retried).toMatchObject({ status: 200, body: { retried: 1, blocked: 1 } });
  await drain(db, () => refuse);
  const resolved = { step: "a", status: "succeeded", result: { by: "hand" } };
  expect(await app(`${path}/resolve`, { method: "POST", body: resolved })).toMatchObject({ status: 200 });
  expect(await drain(db)).toEqual(["b"]);
  expect((await app(path)).body).toMatchObject({ status: "succeeded" });
});

test("a workflow gets another deadline and further steps, and many are canceled or retried by filter", async ({
  app,
  db,
}) => {
  const start = async (subject: string): Promise<string> => {
    const started = await app("/v1/workflows", { method: "POST", body: { ...approval, subject } });
    return `/v1/workflows/${String(started.body["id"])}`;
  };
  const path = await start("doc:1");
  const changes = { deadline: "2199-01-01T00:00:00Z", priority: 7, tags: ["late"] };
  expect(await app(path, { method: "PATCH", body: changes })).toMatchObject({
    status: 200,
    body: { deadline: expect.stringContaining("2199-01-01"), priority: 7, tags: ["late"], parent_id: null },
  });
  expect(await app(path, { method: "PATCH", body: { deadline: null } })).toMatchObject({
    body: { deadline: null, priority: 7 },
  });
  const steps = [{ name: "index", type: "doc.index", needs: ["draft"] }];
  const add = { method: "POST", body: { steps } } as const;
  expect(await app(`${path}/steps`, add)).toMatchObject({ status: 200, body: { added: 1, existing: 0 } });
  expect(await app(`${path}/steps`, add)).toMatchObject({ body: { added: 0, existing: 1 } });
  const other = { method: "POST", body: { steps: [{ name: "index", type: "doc.other" }] } } as const;
  expect(await app(`${path}/steps`, other)).toMatchObject({ status: 409, body: { code: "JF013" } });

  await start("doc:2");
  const bySubject = { method: "POST", body: { filters: { subject: "doc:2" } } } as const;
  expect(await app("/v1/workflows/bulk/cancel", bySubject)).toMatchObject({
    body: { matched: 1, changed: 1 },
  });
  expect(await drain(db, () => refuse)).toEqual(["draft"]);
  const failed = { method: "POST", body: { filters: { name: "doc.publish" }, limit: 10 } } as const;
  expect(await app("/v1/workflows/bulk/retry", failed)).toMatchObject({ body: { matched: 1, changed: 1 } });
  expect(await app("/v1/workflows/bulk/retry", { method: "POST", body: { filters: {} } })).toMatchObject({
    status: 400,
    body: { code: "JF002" },
  });
});

test("what is wrong with a step is named", async ({ app }) => {
  const start = (steps: readonly object[]) =>
    app("/v1/workflows", { method: "POST", body: { name: "w", steps } });
  expect(await start([{ name: "a", type: "t", needs: ["b"] }])).toMatchObject({
    status: 400,
    body: { code: "JF002", field: "steps[0].needs[0]" },
  });
  expect(await start([{ name: "a", type: "t", retries: 3 }])).toMatchObject({
    status: 400,
    body: { field: "steps.0.retries" },
  });
});
