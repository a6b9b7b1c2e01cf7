/** /v1/schedules. */
import { expect } from "vitest";
import { test } from "../support/client.ts";
import { T } from "../support/server.ts";

test("schedules are ensured, changed, run, disabled and deleted", async ({ app, db }) => {
  const path = `/v1/schedules/fetch/${encodeURIComponent("feed/1")}`;
  const ensured = await app(path, { method: "PUT", body: { every: "1h", payload: { feed: 1 } } });
  expect(ensured).toMatchObject({
    status: 200,
    body: { outcome: "created", key: "feed/1", kind: "every", enabled: true },
  });
  expect((await app(path)).body).toMatchObject({ payload: { feed: 1 } });
  expect((await app(path, { method: "PATCH", body: { priority: 3 } })).body).toMatchObject({ priority: 3 });
  expect((await app(`${path}/run`, { method: "POST" })).body).toMatchObject({ run_requested: true });
  await db.query("select jobforge_complete_job(id, 'w', 'succeeded') from jobforge_claim_jobs('w')");
  expect((await app(`${path}/runs`)).body).toMatchObject({ items: [{ type: "fetch", status: "succeeded" }] });
  expect((await app(`${path}/disable`, { method: "POST" })).body).toMatchObject({ enabled: false });
  expect((await app("/v1/schedules?enabled=true")).body).toEqual({ items: [], cursor: null });
  expect((await app("/v1/schedules?enabled=false&type=fetch")).body["items"]).toHaveLength(1);
  expect((await app(`${path}/enable`, { method: "POST" })).body).toMatchObject({ enabled: true });
  expect((await app(path, { method: "DELETE" })).body).toMatchObject({ deleted: true });
  expect(await app(path)).toMatchObject({ status: 404 });
  expect(await app(`${path}/run`, { method: "POST" })).toMatchObject({
    status: 404,
    body: { code: "JF010" },
  });
  expect(await app(path, { method: "PUT", body: { cron: "never" } })).toMatchObject({
    status: 400,
    body: { code: "JF009" },
  });
});

test("the next runs of a schedule and of an expression are shown", async ({ app, operator }) => {
  const path = "/v1/schedules/fetch/feed";
  const body = { cron: "0 9 1 1 *", timezone: "Europe/Berlin", starts_at: "2035-06-01T00:00:00Z" };
  await app(path, { method: "PUT", body });
  const times = ["2036-01-01T08:00:00+00:00", "2037-01-01T08:00:00+00:00"];
  expect((await app(`${path}/next?count=2`)).body).toEqual({ items: times });
  expect((await operator(`${path}/next?tenant_id=${T}`)).body["items"]).toHaveLength(10);
  expect(await app(`${path}x/next`)).toMatchObject({ status: 404, body: { code: "JF010" } });
  expect((await app(`${path}/next?count=101`)).status).toBe(400);
  const { starts_at: after, timezone, cron: expression } = body;
  const preview = await app("/v1/cron/preview", { body: { expression, timezone, after, count: 2 } });
  expect(preview.body).toEqual({ items: times });
  expect(await app("/v1/cron/preview", { body: { expression: "61 * * * *" } })).toMatchObject({
    status: 400,
    body: { code: "JF009" },
  });
});
