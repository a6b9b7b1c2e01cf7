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
  expect((await app("/v1/bulk/cancel", { body: { filters: { type: ["a"] } } })).body).toEqual({
    matched: 2,
    changed: 2,
  });
  expect((await app("/v1/bulk/reschedule", { body: { filters: { status: "dead" } } })).body).toEqual({
    matched: 1,
    changed: 1,
  });
  expect(await app("/v1/bulk/cancel", { body: { filters: {} } })).toMatchObject({
    status: 400,
    body: { code: "JF002" },
  });
});
