/** Metering: usage per tenant, type and hour equals the sum of the runs. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  cancel,
  claim,
  claimAndFail,
  complete,
  connections,
  enqueue,
  enqueueAll,
  expectError,
  fail,
  reschedule,
  type Sql,
  setPolicy,
  T,
  travelToRun,
  U,
  workerHeartbeat,
} from "../support/kernel.ts";
import { settle } from "../support/settle.ts";
import { boundLogin, login } from "../support/tenants.ts";
import { at, maintain, report, usage } from "../support/usage.ts";

test("usage counts how runs ended, their retries and their cost", async ({ db }) => {
  await setPolicy(db, "a", { max_attempts: 2 });
  const [dies] = await enqueueAll(db, [{}]);
  await claimAndFail(db, { cost_cents: 3 });
  await travelToRun(db, dies);
  await claimAndFail(db, { cost_cents: 4 });
  const [works, refuses, waits] = await enqueueAll(db, [{}, {}, {}]);
  await claim(db);
  await complete(db, works, { cost_cents: 5 });
  await fail(db, refuses, { retry: false });
  await db.query("select jobforge_defer_job($1, 'w1', jobforge.now() + interval '1 day')", [waits]);
  await maintain(db);
  expect(await usage(db)).toMatchObject({
    runs: 5,
    succeeded: 1,
    failed: 3,
    lost: 0,
    deferred: 1,
    retries: 1,
    dead: 2,
    cost_cents: 12,
  });
});

test("a lost run counts as lost, without a duration; a released run does not count", async ({ db }) => {
  await enqueueAll(db, [{}, {}]);
  const [lost, released] = await claim(db);
  await settle(db, [{ id: released?.id, attempt: 1, status: "released" }]);
  await db.travel("10 minutes");
  await maintain(db);
  await maintain(db);
  const rows = await usage(db);
  expect(rows).toMatchObject({ runs: 1, succeeded: 0, lost: 1, retries: 1, run_ms: 0, run_p50_ms: null });
  expect((await db.query("select from jobforge_job_attempts where job_id = $1", [lost?.id])).length).toBe(1);
});

test("the cost of a released run counts, the run itself does not", async ({ db }) => {
  await enqueueAll(db, [{}]);
  const [job] = await claim(db);
  await settle(db, [{ id: job?.id, attempt: 1, status: "released", cost_cents: 3 }]);
  await maintain(db);
  expect(await usage(db)).toMatchObject({
    runs: 0,
    succeeded: 0,
    cost_cents: 3,
    wait_ms: 0,
    wait_p50_ms: null,
  });
  const [again] = await claim(db);
  await complete(db, again?.id ?? "", { cost_cents: 4 });
  await maintain(db);
  expect(await usage(db)).toMatchObject({ runs: 1, succeeded: 1, cost_cents: 7 });
  expect(await db.value("select cost_cents from jobforge_jobs")).toBe(7);
});

test("a canceled run counts by how it ended, and a job that never ran does not count", async ({ db }) => {
  const [running, queued] = await enqueueAll(db, [{}, { in: "1 hour" }]);
  await claim(db);
  await cancel(db, running);
  await cancel(db, queued);
  await complete(db, running);
  await maintain(db);
  expect(await usage(db)).toMatchObject({ runs: 1, succeeded: 1, dead: 0 });
});

test("a run counts in the hour in which it ended, for its tenant and type", async ({ db }) => {
  await at(db, "2027-03-01T10:59:59Z");
  const jobs = await enqueueAll(db, [{}, { type: "b" }, { tenant_id: U }, {}]);
  await claim(db);
  for (const id of jobs.slice(0, 3)) await complete(db, id ?? "");
  await at(db, "2027-03-01T11:00:01Z");
  await complete(db, jobs[3]);
  await maintain(db);
  const rows = await db.query("select tenant_id, type, hour, runs::int from jobforge_usage order by 3, 1, 2");
  expect(rows).toEqual([
    { tenant_id: T, type: "a", hour: new Date("2027-03-01T10:00:00Z"), runs: 1 },
    { tenant_id: T, type: "b", hour: new Date("2027-03-01T10:00:00Z"), runs: 1 },
    { tenant_id: U, type: "a", hour: new Date("2027-03-01T10:00:00Z"), runs: 1 },
    { tenant_id: T, type: "a", hour: new Date("2027-03-01T11:00:00Z"), runs: 1 },
  ]);
});

test("usage outlives the jobs, types without history are metered, and a rescheduled job counts no run twice", async ({
  db,
}) => {
  await setPolicy(db, "unkept", { keep_history: false });
  const [unkept] = await enqueueAll(db, [{ type: "unkept" }]);
  await claim(db);
  await complete(db, unkept);
  const [dead] = await enqueueAll(db, [{}]);
  await claimAndFail(db, { retry: false });
  await reschedule(db, dead);
  await claimAndFail(db, { retry: false });
  await maintain(db);
  const before = await usage(db);
  expect(before).toMatchObject({ runs: 3, succeeded: 1, failed: 2, dead: 2 });
  await db.travel("100 days");
  for (let pass = 0; pass < 10; pass += 1) await maintain(db);
  expect(await db.value("select count(*)::int from jobforge_jobs")).toBe(0);
  expect(await usage(db)).toEqual(before);
  await db.travel("500 days");
  await maintain(db);
  expect(await db.value("select count(*)::int from jobforge_usage")).toBe(0);
});

test("with concurrent settles and merges usage equals the raw rows, also for ends that are committed late", async ({
  db,
}) => {
  await setPolicy(db, "*", { max_attempts: 2, base_ms: 0 });
  const workers = await connections(db, 6);
  const late = workers.pop() ?? expect.fail("no connection");
  for (const tenant of [T, U])
    await db.query("select jobforge_enqueue_jobs($1, $2)", [
      tenant,
      JSON.stringify(Array.from({ length: 300 }, (_, i) => ({ type: `t${i % 3}` }))),
    ]);
  const held = await claim(late, "late", { limit: 20 });
  await late.query("begin");
  for (const job of held) await complete(late, job.id, { worker: "late", cost_cents: 1 });
  const drained = workers.map((worker, index) => drain(worker, `w${index}`));
  let merging = true;
  const merged = (async () => {
    while (merging) await maintain(db);
  })();
  await Promise.all(drained);
  await late.query("commit");
  merging = false;
  await merged;
  await maintain(db);
  const recount = await db.query(recountSql);
  const counted = await db.query(
    `select tenant_id, type, sum(runs)::int as runs, sum(succeeded)::int as succeeded, sum(failed)::int as failed,
       sum(retries)::int as retries, sum(dead)::int as dead, sum(cost_cents)::int as cost_cents,
       sum((select sum(n) from unnest(run_histogram) n))::int as lengths
     from jobforge_usage group by 1, 2 order by 1, 2`,
  );
  expect(counted).toEqual(recount);
  expect(await db.value("select sum(runs)::int from jobforge_usage")).toBeGreaterThan(600);
  expect(await db.value("select count(*)::int from jobforge.usage_deltas")).toBe(0);
});

/** Runs all jobs in batches of seven; every third run fails. */
async function drain(db: Sql, worker: string): Promise<void> {
  let results: unknown[] = [];
  for (;;) {
    const { jobs } = await settle(db, results, { worker, claim: 7 });
    if (jobs.length === 0 && results.length === 0) return;
    results = jobs.map((job, index) => ({
      id: job.id,
      attempt: job.attempts,
      status: index % 3 === 0 ? "failed" : "succeeded",
      cost_cents: 2,
    }));
  }
}

const recountSql = `
  select tenant_id, type, count(*)::int as runs, (count(*) filter (where status = 'succeeded'))::int as succeeded,
    (count(*) filter (where status = 'failed'))::int as failed,
    (count(*) filter (where status = 'failed' and attempt_no < attempts))::int as retries,
    (count(*) filter (where status = 'failed' and attempt_no = attempts))::int as dead,
    (sum(case when attempt_no = attempts then cost_cents end))::int as cost_cents, count(*)::int as lengths
  from (
    select j.tenant_id, j.type, a.status, a.attempt_no, j.attempts, j.cost_cents
    from jobforge_jobs j join jobforge_job_attempts a on a.job_id = j.id
  ) r
  group by 1, 2 order by 1, 2`;

test("rows that one pass cannot merge are merged by the next pass, without waiting for its interval", async ({
  db,
}) => {
  await db.query(
    `insert into jobforge.usage_deltas (tenant_id, type, hour, runs, succeeded, failed, lost, deferred, retries, dead, cost_cents, waits, lengths)
     select $1, 't' || i % 2, date_trunc('hour', now()), 1, 1, 0, 0, 0, 0, 0, 1, '{1}', '{2}' from generate_series(1, 25000) i`,
    [T],
  );
  await workerHeartbeat(db, "w1");
  expect(await db.value("select count(*)::int from jobforge.usage_deltas")).toBe(5000);
  await workerHeartbeat(db, "w1");
  expect(await db.value("select count(*)::int from jobforge.usage_deltas")).toBe(0);
  expect(await usage(db)).toMatchObject({
    runs: 25_000,
    cost_cents: 25_000,
    wait_ms: 25_000,
    run_ms: 50_000,
  });
  await db.query("update jobforge.maintenance set ran_at = '-infinity' where task = 'usage'");
  await workerHeartbeat(db, "w1");
  expect((await usage(db))?.["runs"], "nothing is merged twice").toBe(25_000);
});

test("percentiles are accurate to a fifth, and can be summed over hours and types", async ({ db }) => {
  const lengths = Array.from({ length: 200 }, (_, i) => Math.round(1.05 ** i * 3));
  await at(db, "2027-03-01T10:30:00Z");
  for (const [index, ms] of lengths.entries()) {
    const { id } = await enqueue(db, { type: `t${index % 2}`, in: `-${ms} milliseconds` });
    await claim(db);
    await db.query("update jobforge.runs set started_at = run_at + $2::interval where id = $1", [
      id,
      `${ms} milliseconds`,
    ]);
    await complete(db, id);
    if (index === 99) await at(db, "2027-03-01T11:30:00Z");
  }
  await maintain(db);
  const [row] = await report(db, {
    p_from: "2027-03-01T00:00:00Z",
    p_to: "2027-03-02T00:00:00Z",
    p_bucket: "total",
    p_by: [],
  });
  expect(row).toMatchObject({ runs: 200, wait_ms: lengths.reduce((sum, ms) => sum + ms) });
  for (const [share, column] of [
    [0.5, "wait_p50_ms"],
    [0.95, "wait_p95_ms"],
    [0.99, "wait_p99_ms"],
  ] as const) {
    const truth = lengths[Math.ceil(share * 200) - 1] ?? 0;
    const said = Number(row?.[column]);
    expect(said / truth, column).toBeGreaterThan(2 ** -0.25 * 0.99);
    expect(said / truth, column).toBeLessThan(2 ** 0.25 * 1.01);
  }
});

test("a report sums days and months of a time zone, by type, by tenant or in total", async ({ db }) => {
  for (const time of ["2027-03-31T21:30:00Z", "2027-03-31T22:30:00Z", "2027-04-01T12:00:00Z"]) {
    await at(db, time);
    for (const tenant_id of [T, U]) {
      const { id } = await enqueue(db, { tenant_id });
      await claim(db);
      await complete(db, id);
    }
  }
  await maintain(db);
  const range = { p_from: "2027-03-01T00:00:00Z", p_to: "2027-05-01T00:00:00Z" };
  const months = await report(db, { ...range, p_bucket: "month", p_by: [], p_timezone: "Europe/Berlin" });
  expect(months).toMatchObject([
    { start_at: new Date("2027-02-28T23:00:00Z"), tenant_id: null, type: null, runs: 2 },
    { start_at: new Date("2027-03-31T22:00:00Z"), runs: 4 },
  ]);
  const days = await report(db, { ...range, p_bucket: "day", p_by: ["tenant", "type"], p_tenant_id: U });
  expect(days).toMatchObject([
    { start_at: new Date("2027-03-31T00:00:00Z"), tenant_id: U, type: "a", runs: 2 },
    { start_at: new Date("2027-04-01T00:00:00Z"), tenant_id: U, type: "a", runs: 1 },
  ]);
  expect(await report(db, { ...range, p_types: ["b"] })).toEqual([]);
});

test("a tenant sees its own usage only, operators and readers see that of all tenants", async ({ db }) => {
  for (const tenant_id of [T, U]) {
    const { id } = await enqueue(db, { tenant_id });
    await claim(db);
    await complete(db, id);
  }
  await maintain(db);
  const tenant = await boundLogin(db, T, "jobforge_tenant");
  expect(await tenant.query("select tenant_id from jobforge_usage")).toEqual([{ tenant_id: T }]);
  expect(await report(tenant, { p_by: ["tenant"] })).toMatchObject([{ tenant_id: T, runs: 1 }]);
  await expectError(report(tenant, { p_tenant_id: U }), "42501");
  const reader = await login(db, "jobforge_reader");
  expect(await report(reader, { p_by: ["tenant"] })).toHaveLength(2);
  expect(await report(reader, { p_by: [], p_tenant_id: U })).toMatchObject([{ runs: 1 }]);
  const bound = await boundLogin(db, T, "jobforge_reader");
  expect(await report(bound, { p_by: ["tenant"] })).toMatchObject([{ tenant_id: T }]);
  const nobody = await login(db, "jobforge_tenant");
  await expectError(report(nobody, {}), "JF001");
  expect(await nobody.query("select from jobforge_usage")).toEqual([]);
});

test.for([
  ["bucket", { p_bucket: "minute" }],
  ["bucket", { p_bucket: null }],
  ["by", { p_by: ["status"] }],
  ["from", { p_from: "2027-01-02", p_to: "2027-01-01" }],
  ["from", { p_from: "-infinity" }],
  ["timezone", { p_timezone: "Mars/Olympus" }],
] as const)("a report refuses a wrong %s: %j", async ([field, args], { db }) => {
  await expectError(report(db, args), "JF002", field);
});
