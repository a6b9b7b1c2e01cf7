/** `notify` of an enqueue: one job tells one receiver about its end. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  claim,
  deliver,
  deliveries,
  end,
  endpoint,
  enqueue,
  other,
  settle,
  T,
  types,
} from "./support/webhooks.ts";

const url = "https://hooks.example.com/done?x=1";

test("a job tells the URL of its enqueue about its end", async ({ db }) => {
  const job = await enqueue(db, "mail", { notify: { url, secret: { $secret: "HOOK" } } });
  await enqueue(db);
  await end(db, { status: "succeeded" });
  await end(db, { status: "succeeded" });
  const rows = await db.query("select payload, concurrency_key, subject from jobforge_jobs where type = $1", [
    deliver,
  ]);
  expect(rows).toMatchObject([
    {
      payload: {
        url,
        secret: { $secret: "HOOK" },
        event: { id: `${job}-1`, type: "job.succeeded", data: { id: job } },
      },
      concurrency_key: "origin:https://hooks.example.com",
      subject: null,
    },
  ]);
  expect(await db.value("select count(*)::int from jobforge.job_notices where live")).toBe(0);
});

test("it tells only the statuses that the enqueue names, also when it is canceled or rescheduled", async ({
  db,
}) => {
  const job = await enqueue(db, "mail", { notify: { url, on: ["dead", "canceled"] }, max_attempts: 1 });
  await end(db, { status: "failed" });
  await db.query("select jobforge_reschedule_job($1, $2)", [job, T]);
  await db.query("select jobforge_cancel_job($1, $2)", [job, T]);
  await enqueue(db, "mail", { notify: { url, on: ["dead"] } });
  await end(db, { status: "succeeded" });
  expect(await types(db)).toEqual(["job.dead", "job.canceled"]);
});

test("the single call and children of a success take it, too", async ({ db }) => {
  await db.query("select jobforge_enqueue_job($1, 'mail', p_notify_to => $2)", [T, { url }]);
  const run = await claim(db);
  await settle(db, run, { status: "succeeded", children: [{ type: "child", notify: { url } }] });
  await end(db, { status: "succeeded" }, "child");
  expect((await deliveries(db)).map(({ event }) => event.data["type"])).toEqual(["mail", "child"]);
});

test("so do the jobs of callers that are sent together, and one that names no endpoint of the tenant is rejected", async ({
  db,
}) => {
  const own = await endpoint(db, { events: ["invoice.*"] });
  const foreign = await endpoint(db, {}, other);
  const jobs = [
    { type: "mail", notify: { url } },
    { type: "mail" },
    { type: "mail", notify: { endpoint_id: foreign } },
    { type: "mail", notify: { endpoint_id: own }, idempotency_key: "k" },
    { type: "mail", notify: { url, on: ["queued"] } },
  ];
  const rows = await db.value<{ outcome: string }[]>("select jobforge_enqueue_each($1, $2)", [
    jobs.map(() => T),
    JSON.stringify(jobs),
  ]);
  expect(rows.map(({ outcome }) => outcome)).toEqual([
    "created",
    "created",
    "rejected",
    "created",
    "rejected",
  ]);
  for (let n = 0; n < 3; n++) await end(db, { status: "succeeded" });
  expect((await deliveries(db)).map(({ subject }) => subject)).toEqual([null, own]);
});

test("only the call that creates the job says whom to tell", async ({ db }) => {
  await enqueue(db, "mail", { idempotency_key: "k" });
  await enqueue(db, "mail", { idempotency_key: "k", notify: { url } });
  await end(db, { status: "succeeded" });
  expect(await types(db)).toEqual([]);
});

test("an endpoint that wants the event anyway gets it once", async ({ db }) => {
  const id = await endpoint(db);
  const quiet = await endpoint(db, { events: ["invoice.*"] });
  await enqueue(db, "mail", { notify: { endpoint_id: id } });
  await end(db, { status: "succeeded" });
  await enqueue(db, "mail", { notify: { endpoint_id: quiet } });
  await end(db, { status: "succeeded" });
  expect((await deliveries(db)).map(({ subject }) => subject)).toEqual([id, id, quiet]);
});

test("a notice that cannot be delivered is refused at the enqueue", async ({ db }) => {
  const foreign = await endpoint(db, {}, other);
  for (const [notify, code, field] of [
    ["x", "JF002", "jobs[0].notify"],
    [{}, "JF002", "jobs[0].notify"],
    [{ url, endpoint_id: foreign }, "JF002", "jobs[0].notify"],
    [{ url: "ftp://example.com" }, "JF002", "jobs[0].notify.url"],
    [{ url: "http://169.254.169.254/latest" }, "JF002", "jobs[0].notify.url"],
    [{ url: "https://user:pass@example.com" }, "JF002", "jobs[0].notify.url"],
    [{ url, on: ["queued"] }, "JF002", "jobs[0].notify.on"],
    [{ url, on: [] }, "JF002", "jobs[0].notify.on"],
    [{ url, secret: "plain" }, "JF002", "jobs[0].notify.secret"],
    [{ endpoint_id: foreign }, "JF016", "endpoint_id"],
  ] as const) {
    const failure = await enqueue(db, "mail", { notify }).catch((error: unknown) => error);
    expect(failure, JSON.stringify(notify)).toMatchObject({ code });
    expect(JSON.stringify((failure as { detail: string }).detail)).toContain(field);
  }
  expect(await db.value("select count(*)::int from jobforge_jobs")).toBe(0);
});

test("a job that stays finished, because another one has its key, has nothing more to tell", async ({
  db,
}) => {
  const job = await enqueue(db, "mail", { notify: { url }, dedupe_key: "k", max_attempts: 1 });
  await end(db, { status: "failed" });
  await enqueue(db, "mail", { dedupe_key: "k" });
  const live = (): Promise<unknown> => db.query("select job_id from jobforge.job_notices where live");
  expect(await db.value(`select jobforge_reschedule_jobs($1, '{"status": "dead"}')`, [T])).toEqual({
    matched: 1,
    changed: 0,
  });
  expect(await live()).toEqual([]);
  await end(db, { status: "succeeded" });
  await db.query("select jobforge_reschedule_job($1, $2)", [job, T]);
  expect(await live()).toEqual([{ job_id: job }]);
});

test("an end waits for no transaction that reschedules many jobs, and has found the job before it ran", async ({
  db,
}) => {
  const job = await enqueue(db, "mail", { notify: { url } });
  const run = await claim(db);
  const app = await db.connect();
  await app.query("begin");
  // What jobforge_reschedule_jobs does with the jobs that its filter has found.
  expect(
    await app.value("select jobforge.run_now($1, array[$2::uuid], array[null::timestamptz], now())", [
      T,
      job,
    ]),
  ).toBe(0);
  await db.query("set statement_timeout = '5s'");
  await settle(db, run, { status: "succeeded" });
  expect(await types(db)).toEqual(["job.succeeded"]);
});

test("a notice is deleted with its job", async ({ db }) => {
  const job = await enqueue(db, "mail", { notify: { url } });
  await end(db, { status: "succeeded" });
  await db.query(`select jobforge_purge_jobs($1, '{"type": "mail"}')`, [T]);
  expect(await db.value("select count(*)::int from jobforge.job_notices where job_id = $1", [job])).toBe(0);
});

test("maintenance gives deliveries the preset, and a policy that exists stays", async ({ db }) => {
  const policy = (): Promise<object> => db.value("select jobforge_get_policy($1)", [deliver]);
  const maintain = (): Promise<unknown> => db.query("select jobforge_maintain()");
  await maintain();
  expect(await policy()).toMatchObject({ type: "*" });
  await enqueue(db, "mail", { notify: { url: "https://example.com/done" } });
  await db.travel("1 hour");
  await maintain();
  expect(await policy()).toMatchObject({ type: deliver, base_ms: 5000, factor: 5, max_attempts: 12 });
  await db.query("select jobforge_set_policy($1, $2)", [deliver, { base_ms: 7 }]);
  await endpoint(db);
  await db.travel("2 hours");
  await maintain();
  expect(await policy()).toMatchObject({ base_ms: 7, by_hand: ["base_ms"] });
});
