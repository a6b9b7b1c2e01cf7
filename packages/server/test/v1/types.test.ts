/** /v1/types. */
import { expect } from "vitest";
import { test } from "../support/client.ts";

test("an operator sees types with their waiting and finished jobs", async ({ app, operator, db }) => {
  await app("/v1/bulk/enqueue", { body: { jobs: [{ type: "a" }, { type: "b" }] } });
  await db.query(
    "select jobforge_complete_job(id, 'w', 'succeeded') from jobforge_claim_jobs('w', 1, array['b'])",
  );
  expect((await operator("/v1/types")).body).toMatchObject({
    items: [
      { type: "a", due: 1, workers: 0 },
      { type: "b", due: 0, succeeded: 1 },
    ],
    cursor: null,
  });
  expect(await operator("/v1/types?span=8+days")).toMatchObject({ status: 400, body: { field: "span" } });
  expect((await app("/v1/types")).status).toBe(403);
});
