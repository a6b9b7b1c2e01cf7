/** /v1/usage. */
import { expect } from "vitest";
import { test } from "../support/client.ts";
import { T, U } from "../support/server.ts";

test("usage is reported by time, type and tenant, to callers that may see it", async ({
  app,
  operator,
  db,
}) => {
  await app("/v1/bulk/enqueue", { body: { jobs: [{ type: "a" }, { type: "b" }] } });
  await operator(`/v1/jobs?tenant_id=${U}`, { body: { type: "a" } });
  await db.query("select jobforge_complete_job(id, 'w', 'succeeded') from jobforge_claim_jobs('w', 3)");
  await db.query("select jobforge_maintain()");
  expect((await app("/v1/usage?bucket=total")).body).toMatchObject({
    items: [
      { type: "a", tenant_id: null, runs: 1, succeeded: 1, run_p50_ms: expect.any(Number) },
      { type: "b", runs: 1 },
    ],
    cursor: null,
  });
  const all = await operator("/v1/usage?bucket=day&by=tenant&type=a&timezone=Europe%2FBerlin");
  expect(all.body["items"]).toMatchObject([
    { tenant_id: T, type: null, runs: 1 },
    { tenant_id: U, runs: 1 },
  ]);
  // One row for each day, whatever ran on it.
  expect((await operator("/v1/usage?bucket=day&by=none")).body["items"]).toMatchObject([
    { tenant_id: null, type: null, runs: 3 },
  ]);
  expect((await app(`/v1/usage?tenant_id=${U}`)).status).toBe(403);
  expect(await app("/v1/usage?timezone=Moon")).toMatchObject({ status: 400, body: { field: "timezone" } });
});
