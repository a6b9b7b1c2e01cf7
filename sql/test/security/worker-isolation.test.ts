/** Which tenants' jobs a worker may claim and change: all of them, or one tenant's when its role is bound. */
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { load } from "../support/cost.ts";
import { outcome } from "../support/failures.ts";
import { pinSnapshot } from "../support/flow.ts";
import type { Sql } from "../support/kernel.ts";
import { boundLogin, callsNaming, claimedByBound, login, populate, T, U } from "../support/tenants.ts";

const enqueue = "select jobforge_enqueue_job($1, 'mail')";
const claim = "select tenant_id from jobforge_claim_jobs('w2', 100)";

describe("workers", () => {
  test("that are not bound claim and enqueue for every tenant", async ({ db }) => {
    await populate(db);
    const worker = await login(db, "jobforge_worker");
    const claimed = await worker.query<{ tenant_id: string }>(claim);
    expect(claimed.map((job) => job.tenant_id).sort()).toEqual([T, U]);
    expect(await outcome(worker.query(enqueue, [T]))).toBe("accepted");
    expect(await outcome(worker.query(enqueue, [U]))).toBe("accepted");
  });

  test("that ask for one tenant get that tenant's jobs", async ({ db }) => {
    await populate(db);
    const worker = await login(db, "jobforge_worker");
    expect(await worker.query("select tenant_id from jobforge_claim_jobs('w2', 100, null, $1)", [U])).toEqual(
      [{ tenant_id: U }],
    );
  });

  test("that are bound claim and enqueue for their tenant only", async ({ db }) => {
    await populate(db);
    const worker = await boundLogin(db, T, "jobforge_worker");
    expect(await outcome(worker.query("select from jobforge_claim_jobs('w2', 100, null, $1)", [U]))).toBe(
      "42501",
    );
    expect(await worker.query(claim)).toEqual([{ tenant_id: T }]);
    expect(await worker.query(claim)).toEqual([]);
    expect(await outcome(worker.query(enqueue, [T]))).toBe("accepted");
    expect(await outcome(worker.query(enqueue, [U]))).toBe("42501");
  });

  test("that are bound cannot change another tenant's run, even under its worker's name", async ({ db }) => {
    const { t, u } = await populate(db);
    await claimedByBound(db, T);
    const worker = await boundLogin(db, T, "jobforge_worker");
    const before = await db.query("select * from jobforge.live_rows where id = $1", [u.running]);
    expect(await outcome(worker.query("select jobforge_heartbeat_job($1, 'w1')", [u.running]))).toBe("JF003");
    for (const status of ["succeeded", "failed"]) {
      expect(
        await outcome(worker.query("select jobforge_complete_job($1, 'w1', $2)", [u.running, status])),
      ).toBe("JF003");
    }
    expect(await db.query("select * from jobforge.live_rows where id = $1", [u.running])).toEqual(before);
    expect(await outcome(worker.query("select jobforge_heartbeat_job($1, 'w1')", [t.running]))).toBe(
      "accepted",
    );
    expect(
      await outcome(worker.query("select jobforge_complete_job($1, 'w1', 'succeeded')", [t.running])),
    ).toBe("accepted");
  });

  test("that are bound cannot touch their tenant's run of a worker that is not bound", async ({ db }) => {
    const { t, u } = await populate(db);
    const worker = await boundLogin(db, T, "jobforge_worker");
    await worker.query("begin");
    await worker.query('select jobforge_heartbeat_worker(\'w1\', \'{"instance": "other", "held": []}\')');
    const calls = [
      "heartbeat_job($1, 'w1')",
      "progress_job($1, 'w1', '{}')",
      "complete_job($1, 'w1', 'failed')",
    ];
    for (const call of calls) {
      await worker.query("savepoint here");
      expect(await outcome(worker.query(`select jobforge_${call}`, [t.running])), call).toBe("JF003");
      await worker.query("rollback to here");
    }
    // The transaction stays open, and the settle of the other worker does not wait for it.
    await db.query("set statement_timeout = '10s'");
    const results = [t.running, u.running].map((id) => ({ id, attempt: 1, status: "succeeded" }));
    const { settled } = await db.value<{ settled: { outcome: string }[] }>(
      "select jobforge_settle_jobs('w1', $1)",
      [JSON.stringify(results)],
    );
    expect(settled.map(({ outcome }) => outcome)).toEqual(["ok", "ok"]);
  });

  test("may not cancel, reschedule, list or set policies", async ({ db }) => {
    const { t } = await populate(db);
    const worker = await login(db, "jobforge_worker");
    for (const call of ["jobforge_cancel_job($1, $2)", "jobforge_reschedule_job($1, $2)"]) {
      expect(await outcome(worker.query(`select ${call}`, [t.queued, T]))).toBe("42501");
    }
    expect(await outcome(worker.query("select jobforge_list_jobs($1)", [T]))).toBe("42501");
    expect(await outcome(worker.query("select jobforge_set_policy('mail', '{}')"))).toBe("42501");
  });

  test("that are bound cannot name another tenant in any function", async ({ db }) => {
    const calls = await callsNaming(db, U, "jobforge_worker");
    expect(calls.length).toBeGreaterThanOrEqual(4);
    const worker = await boundLogin(db, T, "jobforge_worker");
    for (const call of calls) expect(await outcome(worker.query(call)), call).toBe("42501");
  });

  test("that are bound cannot defer another tenant's run or report its progress", async ({ db }) => {
    const { u } = await populate(db);
    const worker = await boundLogin(db, T, "jobforge_worker");
    const before = await db.query("select * from jobforge.live_rows where id = $1", [u.running]);
    expect(
      await outcome(worker.query("select jobforge_defer_job($1, 'w1', clock_timestamp())", [u.running])),
    ).toBe("JF003");
    expect(await outcome(worker.query("select jobforge_progress_job($1, 'w1', '1')", [u.running]))).toBe(
      "JF003",
    );
    expect(await db.query("select * from jobforge.live_rows where id = $1", [u.running])).toEqual(before);
  });

  test("that are bound settle their own runs of a batch, and the others are stale", async ({ db }) => {
    const { t, u } = await populate(db);
    await claimedByBound(db, T);
    const worker = await boundLogin(db, T, "jobforge_worker");
    const results = [u.running, t.running, u.dead].map((id) => ({ id, attempt: 1, status: "succeeded" }));
    const { settled } = await worker.value<{ settled: { id: string; outcome: string }[] }>(
      "select jobforge_settle_jobs('w1', $1)",
      [JSON.stringify(results)],
    );
    expect(settled.map(({ id, outcome }) => [id, outcome])).toEqual([
      [u.running, "stale"],
      [t.running, "ok"],
      [u.dead, "stale"],
    ]);
    expect(await db.query("select status from jobforge_jobs where id = $1", [u.running])).toEqual([
      { status: "running" },
    ]);
  });

  test("that are bound get only their own tenant's jobs, whatever hint they pass", async ({ db }) => {
    await populate(db);
    await db.query("select jobforge_enqueue_job($1, 'waits') from generate_series(1, 5)", [U]);
    const settleAndClaim = "select jobforge_settle_jobs($1, '[]', $2, array['waits'], p_hint => $3)";
    const { hint } = await db.value<{ hint: unknown }>(settleAndClaim, ["w2", 1, null]);
    const worker = await boundLogin(db, T, "jobforge_worker");
    await db.query("select jobforge_enqueue_job($1, 'waits')", [T]);
    const { jobs } = await worker.value<{ jobs: { tenant_id: string }[] }>(settleAndClaim, ["w3", 100, hint]);
    expect(new Set(jobs.map((job) => job.tenant_id))).toEqual(new Set([T]));
  });

  test("that are bound find no types of other tenants in their hint", async ({ db }) => {
    const worker = await boundLogin(db, T, "jobforge_worker");
    await db.query(enqueue, [T]);
    await db.query("select jobforge_enqueue_job($1, 'secret', p_priority => -1)", [U]);
    // Rows that were deleted under an open snapshot make it costly to find the types, so the hint remembers them.
    await pinSnapshot(db);
    await load(db, { count: 10_000, type: "secret" });
    await db.query("delete from jobforge.queue where type = 'secret' and rank = 0");
    const hintOf = async (session: Sql): Promise<string> =>
      JSON.stringify(await session.value("select jobforge_settle_jobs('w2', '[]', 1) -> 'hint'"));
    expect(await hintOf(await login(db, "jobforge_worker"))).toContain("secret");
    expect(await hintOf(worker)).not.toContain("secret");
  });

  test("that are bound cannot use p_next_run_at to find out whether another tenant's job exists", async ({
    db,
  }) => {
    const { u } = await populate(db);
    const worker = await boundLogin(db, T, "jobforge_worker");
    const end = "select jobforge_complete_job($1, 'w1', 'succeeded', p_next_run_at => now())";
    expect(await outcome(worker.query(end, [u.running]))).toBe("JF003");
  });

  test("that are bound cannot end the leases of another tenant's worker by using its name", async ({
    db,
  }) => {
    const { t, u } = await populate(db);
    await db.query(`select jobforge_heartbeat_worker('w1', '{"instance": "a"}')`);
    await db.query("select jobforge_cancel_job($1, $2)", [u.running, U]);
    const worker = await boundLogin(db, T, "jobforge_worker");
    const answer = await worker.value<{ cancel: unknown[] }>(
      `select jobforge_heartbeat_worker('w1', '{"instance": "b", "held": []}')`,
    );
    expect(answer.cancel).toEqual([]);
    expect(
      await db.query("select id, status from jobforge_jobs where id = any ($1) order by tenant_id", [
        [t.running, u.running],
      ]),
    ).toMatchObject([{ id: t.running }, { id: u.running, status: "running" }]);
  });

  test("that are bound cannot keep another tenant's silent worker alive by using its name", async ({
    db,
  }) => {
    const { u } = await populate(db);
    await db.query("select jobforge_heartbeat_worker('w1')");
    const worker = await boundLogin(db, T, "jobforge_worker");
    await db.travel("2 minutes");
    await worker.travel("2 minutes");
    await worker.query("select jobforge_heartbeat_worker('w1')");
    await db.query("select jobforge_maintain()");
    expect(await db.query("select status from jobforge_jobs where id = $1", [u.running])).toEqual([
      { status: "queued" },
    ]);
  });

  test("that are bound cannot keep their tenant's run of a worker that is not bound alive", async ({
    db,
  }) => {
    const { t } = await populate(db);
    await db.query("select jobforge_heartbeat_worker('w1')");
    const worker = await boundLogin(db, T, "jobforge_worker");
    await db.travel("2 minutes");
    await worker.travel("2 minutes");
    await worker.query("select jobforge_heartbeat_worker('w1')");
    await db.query("select jobforge_maintain()");
    expect(await db.value("select status from jobforge_jobs where id = $1", [t.running])).toBe("queued");
  });

  test("that are bound cannot enqueue a child for another tenant", async ({ db }) => {
    const { t } = await populate(db);
    const worker = await boundLogin(db, T, "jobforge_worker");
    const children = [{ type: "child", tenant_id: U }];
    await outcome(
      worker.query("select jobforge_settle_jobs('w1', $1)", [
        JSON.stringify([{ id: t.running, attempt: 1, status: "succeeded", children }]),
      ]),
    );
    expect(await db.query("select from jobforge_jobs where type = 'child' and tenant_id = $1", [U])).toEqual(
      [],
    );
  });
});
