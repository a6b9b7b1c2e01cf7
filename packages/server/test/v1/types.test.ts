/** /v1/types. */
import { expect } from "vitest";
import { test } from "../support/client.ts";
import { U } from "../support/server.ts";

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
});

test("a tenant sees the types that it uses; an operator may ask for one tenant's", async ({
  app,
  operator,
}) => {
  await app("/v1/jobs", { body: { type: "a" } });
  await operator(`/v1/jobs?tenant_id=${U}`, { body: { type: "b" } });
  const own = { items: [{ type: "a", due: 1, workers: null, has_policy: null }], cursor: null };
  expect((await app("/v1/types")).body).toMatchObject(own);
  expect((await app(`/v1/types?tenant_id=${U}`)).status).toBe(403);
  expect((await operator(`/v1/types?tenant_id=${U}`)).body).toMatchObject({
    items: [{ type: "b", workers: 0 }],
  });
});
