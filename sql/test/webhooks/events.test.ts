/** Events: the end of a job and its deliveries are one commit, in every way a job can end. */
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claim, deliveries, end, endpoint, enqueue, other, settle, T, types } from "./support/webhooks.ts";

describe("a job's end", () => {
  test("makes one delivery for each endpoint that wants it, with what it says about the job", async ({
    db,
  }) => {
    const id = await endpoint(db);
    await endpoint(db, { events: ["invoice.*"] });
    await endpoint(db, {}, other);
    const job = await enqueue(db, "mail", { subject: "user:1", tags: ["eu"] });
    await end(db, { status: "succeeded", result: { sent: true }, artifact_ref: "file:x" });
    const [delivery, ...rest] = await deliveries(db);
    expect(rest).toEqual([]);
    expect(delivery).toMatchObject({
      subject: id,
      tags: ["job.succeeded"],
      event: {
        id: `${job}-1`,
        type: "job.succeeded",
        data: {
          id: job,
          tenant_id: T,
          type: "mail",
          status: "succeeded",
          reason: "done",
          attempts: 1,
          subject: "user:1",
          tags: ["eu"],
          error: null,
          schedule: null,
          result_ref: "file:x",
        },
      },
    });
    expect(delivery?.event.data).not.toHaveProperty("payload");
    expect(delivery?.event.data).not.toHaveProperty("result");
  });

  test("tells in every way a run can end", async ({ db }) => {
    await endpoint(db);
    await enqueue(db);
    await end(db, { status: "failed", retry: false, error: { message: "no such address" } });
    await enqueue(db, "mail", { max_attempts: 1 });
    await end(db, { status: "failed" });
    const running = await enqueue(db);
    await claim(db);
    await db.query("select jobforge_cancel_job($1, $2)", [running, T]);
    await db.query("select jobforge_complete_job($1, 'w', 'succeeded')", [running]);
    expect(await types(db)).toEqual(["job.failed", "job.dead", "job.canceled"]);
    const [failed] = await deliveries(db);
    expect(failed?.event.data).toMatchObject({ error: { message: "no such address" }, reason: "refused" });
  });

  test("tells about jobs that never ran: canceled, canceled in bulk, expired", async ({ db }) => {
    await endpoint(db);
    const one = await enqueue(db);
    await db.query("select jobforge_cancel_job($1, $2)", [one, T]);
    await enqueue(db, "bulk");
    await db.query(`select jobforge_cancel_jobs($1, '{"type": "bulk"}')`, [T]);
    await db.query(
      "select jobforge_enqueue_job($1, 'late', p_expires_at => jobforge.now() + interval '1 hour')",
      [T],
    );
    await db.travel("2 hours");
    await db.query("select jobforge_maintain()");
    const made = await deliveries(db);
    expect(made.map(({ event }) => [event.type, event.data["reason"]])).toEqual([
      ["job.canceled", "canceled"],
      ["job.canceled", "canceled"],
      ["job.canceled", "expired"],
    ]);
    expect(made[0]?.event.id).toBe(`${one}-0c`);
  });

  test("tells about a lost lease that ends a job", async ({ db }) => {
    await endpoint(db);
    await enqueue(db, "mail", { max_attempts: 1 });
    await claim(db);
    await db.travel("1 hour");
    await db.query("select jobforge_maintain()");
    const [dead] = await deliveries(db);
    expect(dead?.event).toMatchObject({ type: "job.dead", data: { status: "dead", attempts: 1 } });
  });

  test("tells about a crash loop, and about a job that is put off until its attempts are used up", async ({
    db,
  }) => {
    await endpoint(db, { events: ["job.*"] });
    const crashing = await enqueue(db, "crash");
    for (let loss = 1; loss <= 3; loss += 1) {
      await claim(db, "crash");
      await db.travel(`${loss} hours`);
      await db.query("select jobforge_maintain()");
    }
    const waiting = await enqueue(db, "wait", { max_attempts: 2 });
    await end(db, { status: "deferred", run_at: "2000-01-01T00:00:00Z" }, "wait");
    await end(db, { status: "deferred", run_at: "2000-01-01T00:00:00Z" }, "wait");
    expect((await deliveries(db)).map(({ event }) => [event.id, event.type, event.data["reason"]])).toEqual([
      [`${crashing}-1`, "job.attempt_failed", null],
      [`${crashing}-2`, "job.attempt_failed", null],
      [`${crashing}-3`, "job.dead", "crashed"],
      [`${waiting}-2`, "job.dead", "exhausted"],
    ]);
  });

  test("is canceled, whatever its run reports after the request", async ({ db }) => {
    await endpoint(db, { events: ["job.*"] });
    for (const status of ["succeeded", "failed", "deferred", "released"]) {
      const job = await enqueue(db);
      const run = await claim(db);
      await db.query("select jobforge_cancel_job($1, $2)", [job, T]);
      await settle(db, run, { status });
    }
    const lost = await enqueue(db);
    await claim(db);
    await db.query("select jobforge_cancel_job($1, $2)", [lost, T]);
    await db.travel("1 hour");
    await db.query("select jobforge_maintain()");
    expect(await types(db)).toEqual(Array(5).fill("job.canceled"));
  });

  test("does not happen when it is put off, handed back or rescheduled, so nothing is sent", async ({
    db,
  }) => {
    await endpoint(db, { events: ["*"] });
    const job = await enqueue(db);
    await end(db, { status: "deferred", run_at: "2000-01-01T00:00:00Z" });
    await end(db, { status: "deferred", run_at: "2000-01-01T00:00:00Z", counts: false });
    await end(db, { status: "released" });
    await db.query("select jobforge_reschedule_job($1, $2)", [job, T]);
    await settle(db, { id: job, attempts: 1 }, { status: "succeeded" });
    expect(await types(db)).toEqual([]);
    await end(db, { status: "succeeded" });
    expect((await deliveries(db)).map(({ event }) => event.id)).toEqual([`${job}-4`]);
  });

  test("tells about runs of schedules and of types without history", async ({ db }) => {
    await endpoint(db, { include: ["payload", "result"] });
    await db.query("select jobforge_set_policy('mail', '{\"keep_history\": false}')");
    await enqueue(db, "mail", { payload: { text: "x".repeat(5000) } });
    await end(db, { status: "succeeded", result: 7 });
    await db.query(`select jobforge_ensure_schedule($1, 'tick', 'k', '{"every": "1 minute"}')`, [T]);
    await db.query("select jobforge_run_schedule($1, 'tick', 'k')", [T]);
    await end(db, { status: "failed", error: "broken" }, "tick");
    const [mail, tick] = await deliveries(db);
    expect(mail?.event.data).toMatchObject({ result: 7, payload: { text: "x".repeat(5000) } });
    expect(tick?.event).toMatchObject({ type: "job.failed", data: { type: "tick", schedule: "k" } });
  });

  test("and its deliveries are one commit", async ({ db }) => {
    await endpoint(db);
    await enqueue(db);
    const { id } = await claim(db);
    await db.query("begin");
    await db.query("select jobforge_complete_job($1, 'w', 'succeeded')", [id]);
    expect(await types(db)).toEqual(["job.succeeded"]);
    await db.query("rollback");
    expect(await types(db)).toEqual([]);
    await db.query("select jobforge_complete_job($1, 'w', 'succeeded')", [id]);
    await db.query("select jobforge_settle_jobs('w', $1)", [
      JSON.stringify([{ id, attempt: 1, status: "succeeded" }]),
    ]);
    expect(await types(db)).toEqual(["job.succeeded"]);
  });

  test("that is not the last one tells only an endpoint that asks for attempts", async ({ db }) => {
    await endpoint(db);
    const curious = await endpoint(db, { events: ["job.attempt_failed"] });
    const job = await enqueue(db);
    await end(db, { status: "failed", error: "later" });
    expect(await deliveries(db)).toMatchObject([
      { subject: curious, event: { id: `${job}-1`, type: "job.attempt_failed", data: { status: "queued" } } },
    ]);
  });

  test("after a reschedule is another event", async ({ db }) => {
    await endpoint(db);
    const job = await enqueue(db);
    await end(db, { status: "failed", retry: false });
    await db.query("select jobforge_reschedule_job($1, $2)", [job, T]);
    await db.query("select jobforge_cancel_job($1, $2)", [job, T]);
    expect((await deliveries(db)).map(({ event }) => event.id)).toEqual([`${job}-1`, `${job}-1c`]);
  });

  test("of a delivery makes no event, whatever an endpoint asks for", async ({ db }) => {
    const id = await endpoint(db, { events: ["*"] });
    await db.query("select jobforge_test_webhook_endpoint($1, $2)", [T, id]);
    await end(db, { status: "failed", retry: false }, "connector.webhook.deliver");
    await db.query("select jobforge_test_webhook_endpoint($1, $2)", [T, id]);
    await db.query(`select jobforge_cancel_jobs($1, '{"type": "connector.webhook.deliver"}')`, [T]);
    expect(await types(db)).toEqual(["webhook.test", "webhook.test"]);
  });

  test("goes to endpoints by the type and the tags of the job", async ({ db }) => {
    const byType = await endpoint(db, { job_types: ["mail.*", "sms"] });
    const byTag = await endpoint(db, { tags: ["eu", "gold"] });
    for (const [type, tags] of [
      ["mail.send", ["eu"]],
      ["sms", []],
      ["push", ["gold", "eu", "x"]],
      ["mails", ["gold"]],
    ] as const) {
      await enqueue(db, type, { tags });
      await end(db, { status: "succeeded" }, type);
    }
    expect((await deliveries(db)).map(({ subject, event }) => [subject, event.data["type"]])).toEqual([
      [byType, "mail.send"],
      [byType, "sms"],
      [byTag, "push"],
    ]);
  });

  test("leaves out a payload that is too large, and says so", async ({ db }) => {
    await endpoint(db, { include: ["payload", "result"] });
    await enqueue(db, "mail", { payload: { text: "x".repeat(40_000) } });
    await end(db, { status: "succeeded", result: { ok: true } });
    const [delivery] = await deliveries(db);
    expect(delivery?.event.data).toMatchObject({ result: { ok: true }, omitted: ["payload"] });
  });
});

test("ten thousand completions make ten thousand distinct events, exactly once", async ({ db }) => {
  const id = await endpoint(db);
  await db.query(
    `select jobforge_enqueue_jobs($1, (select jsonb_agg('{"type": "mail"}'::jsonb) from generate_series(1, 1000)))
     from generate_series(1, 10)`,
    [T],
  );
  const workers = await Promise.all(["a", "b"].map(async (name) => ({ name, db: await db.connect() })));
  await Promise.all(
    workers.map(async ({ name, db }) => {
      let results: unknown[] = [];
      do {
        const settled = await db.query<{ jobs: { id: string; attempt: number }[] }>(
          `select d -> 'jobs' as jobs from jobforge_settle_jobs($1, $2, 500, '{mail}') d`,
          [name, JSON.stringify(results)],
        );
        results = (settled[0]?.jobs ?? []).map(({ id, attempt }) => ({ id, attempt, status: "succeeded" }));
        // A response that was lost: the call is repeated, and makes no second event.
        if (results.length > 0)
          await db.query("select jobforge_settle_jobs($1, $2)", [name, JSON.stringify(results.slice(0, 10))]);
      } while (results.length > 0);
    }),
  );
  const rows = await db.query(
    `select count(*)::int as all, count(distinct payload #>> '{event,id}')::int as events,
       count(distinct payload #>> '{event,data,id}')::int as jobs, bool_and(concurrency_key = $1) as keyed
     from jobforge_jobs where type = 'connector.webhook.deliver'`,
    [id],
  );
  expect(rows[0]).toEqual({ all: 10_000, events: 10_000, jobs: 10_000, keyed: true });
  expect(await db.value("select count(*)::int from jobforge_jobs where status = 'succeeded'")).toBe(10_000);
});
