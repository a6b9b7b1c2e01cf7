/** /v1/dead, and bulk changes of its groups. */
import { expect } from "vitest";
import { test } from "../support/client.ts";
import { T } from "../support/server.ts";

test("failed jobs are grouped by error, and a group is counted, run again and purged", async ({
  app,
  operator,
  db,
}) => {
  await app("/v1/bulk/enqueue", { body: { jobs: [1, 2, 3].map(() => ({ type: "mail", max_attempts: 1 })) } });
  await db.query(
    `select jobforge_complete_job(id, 'w', 'failed', jsonb_build_object('message',
       case when n < 3 then 'user ' || n || ' is gone' else 'timeout' end))
     from (select id, row_number() over () as n from jobforge_claim_jobs('w', 3)) c`,
  );
  const groups = await operator("/v1/dead");
  expect(groups.body).toMatchObject({
    items: [{ jobs: 2, type: "mail", tenant_ids: [T] }, { jobs: 1 }],
    cursor: null,
  });
  const [large, small] = groups.body["items"] as { error_group: string }[];
  const filters = { error_group: large?.error_group };
  expect((await app(`/v1/jobs?error_group=${large?.error_group}`)).body["items"]).toHaveLength(2);
  expect((await operator("/v1/bulk/count", { body: { filters, change: "reschedule" } })).body).toMatchObject({
    items: [{ tenant_id: T, type: "mail", status: "dead", jobs: 2, exact: true }],
    cursor: null,
  });
  expect((await app("/v1/bulk/reschedule", { body: { filters } })).body).toMatchObject({
    matched: 2,
    changed: 2,
  });
  expect((await app("/v1/dead?limit=1")).body["items"]).toMatchObject([{ message: "timeout" }]);
  const purge = { body: { filters: { error_group: small?.error_group } } };
  expect((await app("/v1/bulk/purge", purge)).status).toBe(403);
  expect((await operator(`/v1/bulk/purge?tenant_id=${T}`, purge)).body).toMatchObject({
    matched: 1,
    changed: 1,
  });
  expect((await operator("/v1/dead")).body["items"]).toEqual([]);
});
