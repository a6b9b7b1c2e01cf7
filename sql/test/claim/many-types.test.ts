/** Claims that name no types find every job, however many types there are and however ids and names are spread. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";

/** Claims of any type until enough jobs were claimed. A claim looks at some of the types only, so it may find none. */
const maxClaims = 400;

test("tenants with ids that are close together are found, whatever other tenants keep in the queue", async ({
  db,
}) => {
  await db.query(
    `select jobforge_enqueue_job(('019a0000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 't' || n,
       p_run_at => case when n <= 70 then now() + interval '9 days' end)
     from generate_series(1, 300) n`,
  );
  let claimed = 0;
  for (let n = 0; n < maxClaims && claimed < 230; n += 1)
    claimed += await db.value<number>("select count(*)::int from jobforge_claim_jobs('w', 100)");
  expect(claimed).toBe(230);
});

test("types are found although their tenant has queued nothing for a long time before", async ({ db }) => {
  const tenant = "019a0000-0000-7000-8000-000000000001";
  const later = "now() + interval '90 days'";
  await db.query(`select jobforge_enqueue_job($1, 'a', p_run_at => ${later})`, [tenant]);
  await db.travel("30 days");
  await db.query(`select jobforge_enqueue_job($1, 'a', p_run_at => ${later}) from generate_series(1, 250)`, [
    tenant,
  ]);
  await db.query(
    "select jobforge_enqueue_job($1, 'b' || lpad(n::text, 4, '0')) from generate_series(1, 400) n",
    [tenant],
  );
  let claimed = 0;
  for (let n = 0; n < maxClaims && claimed < 400; n += 1)
    claimed += await db.value<number>("select count(*)::int from jobforge_claim_jobs('w', 100, null, $1)", [
      tenant,
    ]);
  expect(claimed).toBe(400);
});
