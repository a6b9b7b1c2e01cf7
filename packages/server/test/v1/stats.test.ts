/** /v1/stats. */
import { expect } from "vitest";
import { test } from "../support/client.ts";

test("jobs are counted by status and type", async ({ operator, app }) => {
  await app("/v1/bulk/enqueue", { body: { jobs: [{ type: "a" }, { type: "a" }] } });
  await app("/v1/bulk/cancel", { body: { filters: { type: "a" }, limit: 1 } });
  expect((await operator("/v1/stats")).body).toMatchObject({ totals: { queued: 1, canceled: 1 } });
  expect((await app("/v1/stats")).body).toMatchObject({ types: [{ type: "a", queued: 1 }] });
});

test("series show what was sampled, to operators and readers", async ({ app, operator, db }) => {
  await app("/v1/jobs", { body: { type: "a" } });
  await db.query("select jobforge_maintain()");
  const { status, body } = await operator("/v1/series?step=5m&type=a");
  expect(status).toBe(200);
  expect(body).toMatchObject({ items: [{ type: "a", due: 1, exact: true, runs: 0 }] });
  expect((await operator("/v1/series?step=1s")).status).toBe(400);
  expect((await app("/v1/series")).status).toBe(403);
});
