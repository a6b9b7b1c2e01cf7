import { expect } from "vitest";
import { test } from "../../test/database.ts";

const tenant = "11111111-1111-4111-8111-111111111111";

test("a job is enqueued, claimed and completed, and its attempt and result are kept", async ({ db }) => {
  const job = await db.value<{ id: string }>(`select jobforge_enqueue_job($1, 'mail', '{"x": 1}')`, [tenant]);
  const [claimed] = await db.query(
    "select id, status, attempts, locked_by, payload from jobforge_claim_jobs('w1')",
  );
  expect(claimed).toEqual({ id: job.id, status: "running", attempts: 1, locked_by: "w1", payload: { x: 1 } });
  await db.query(`select jobforge_complete_job($1, 'w1', 'succeeded', p_result => '{"ok": true}')`, [job.id]);
  const [done] = await db.query("select status, locked_by, result_id from jobforge_jobs where id = $1", [
    job.id,
  ]);
  expect(done).toMatchObject({ status: "succeeded", locked_by: null });
  expect(await db.query("select id, result from jobforge_job_results where job_id = $1", [job.id])).toEqual([
    { id: done?.["result_id"], result: { ok: true } },
  ]);
  expect(await db.query("select attempt_no, status, error from jobforge_job_attempts")).toEqual([
    { attempt_no: 1, status: "succeeded", error: null },
  ]);
});
