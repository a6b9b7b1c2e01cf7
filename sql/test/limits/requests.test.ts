/** Requests to check buckets again: those of one tenant do not make those of others wait. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";

const A = "11111111-1111-4111-8111-111111111111";
const B = "22222222-2222-4222-8222-222222222222";

test("a tenant with hundreds of due requests does not delay the request of another tenant", async ({
  db,
}) => {
  await db.query(
    `insert into jobforge.unpark_requests (tenant_id, bucket, due_at)
     select $1::uuid, n, jobforge.now() - interval '1 hour' from generate_series(1, 300) n`,
    [A],
  );
  await db.query(
    "insert into jobforge.unpark_requests (tenant_id, bucket, due_at) values ($1, 1000, jobforge.now())",
    [B],
  );
  await db.query("select jobforge.unpark_due(jobforge.now() + interval '1 second')");
  const left = await db.query("select tenant_id, count(*)::integer from jobforge.unpark_requests group by 1");
  expect(left).toEqual([{ tenant_id: A, count: 195 }]);
  await db.query(
    "select jobforge.unpark_due(jobforge.now() + interval '1 second') from generate_series(1, 3)",
  );
  expect(await db.value("select count(*)::integer from jobforge.unpark_requests")).toBe(0);
});
