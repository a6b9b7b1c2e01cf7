/** What is committed with a run's end: results, children, the handler's own writes. */
import { defineJob } from "@jobforge/sdk-ts";
import type pg from "pg";
import { expect } from "vitest";
import { z } from "zod";
import { Happening } from "../support/happening.ts";
import { attemptsOf, enqueueMany, jobOf, loseLeases, statuses, untilFinished } from "../support/jobs.ts";
import { keptLog, makeWorker, startWorker, T, test } from "../support/work.ts";

const extract = defineJob({ type: "extract", input: z.object({ call: z.string() }) });
const transcribe = defineJob({
  type: "transcribe",
  input: z.object({ call: z.string() }),
  tags: ["audio"],
  dedupe: ({ call }) => call,
});

test("children are enqueued with their parent's success, for its tenant and linked to its trace", async ({
  db,
  forge,
}) => {
  const { id } = await forge.enqueue(extract, { call: "c1" }, { tenantId: T });
  const trace = new Happening<string>();
  const handler = extract.handle(async ({ call }, job) => {
    trace.now(job.traceparent);
    job.enqueue(transcribe, { call }, { priority: 7 });
  });
  await makeWorker(forge, { handlers: [handler] }).tick();
  const [child] = await db.query(
    "select type, tenant_id, payload, priority, tags, dedupe_key, traceparent from jobforge_jobs where id <> $1",
    [id],
  );
  expect(child).toEqual({
    type: "transcribe",
    tenant_id: T,
    payload: { call: "c1" },
    priority: 7,
    tags: ["audio"],
    dedupe_key: "c1",
    traceparent: await trace.once(),
  });
});

test("a crash after a job has named its next stage, but before it ends, leaves exactly one next stage", async ({
  db,
  forge,
}) => {
  const { id } = await forge.enqueue(extract, { call: "c1" }, { tenantId: T });
  const handler = extract.handle(async ({ call }, job) => {
    job.enqueue(transcribe, { call });
    if (job.attempt === 1) throw new Error("crashed after it named the next stage");
  });
  const worker = makeWorker(forge, { handlers: [handler] });
  await worker.tick();
  expect(await db.value("select count(*)::int from jobforge_jobs where type = 'transcribe'")).toBe(0);
  await forge.reschedule(id, { tenantId: T });
  await worker.tick();
  expect(await jobOf(db, id)).toMatchObject({ status: "succeeded", attempts: 2 });
  expect(await db.value("select count(*)::int from jobforge_jobs where type = 'transcribe'")).toBe(1);
});

test("a child with an invalid input fails the parent, without retries", async ({ db, forge }) => {
  const { id } = await forge.enqueue(extract, { call: "c1" }, { tenantId: T });
  const handler = extract.handle(async (_, job) => job.enqueue(transcribe, JSON.parse('{"call": 7}')));
  await makeWorker(forge, { handlers: [handler] }).tick();
  expect(await jobOf(db, id)).toMatchObject({ status: "failed", error: { name: "InvalidValueError" } });
});

test("transaction() commits the handler's writes, the job's end and its children together", async ({
  db,
  forge,
}) => {
  await db.query("create table transcripts (call text)");
  const { id } = await forge.enqueue(extract, { call: "c1" }, { tenantId: T });
  const statusInside = new Happening<unknown>();
  const handler = extract.handle(async ({ call }, job) => {
    job.cost(9);
    job.enqueue(transcribe, { call });
    const result = await job.transaction(async (client) => {
      await (client as pg.PoolClient).query("insert into transcripts values ($1)", [call]);
      statusInside.now((await jobOf(db, id))["status"]);
      return { rows: 1 };
    });
    expect(result).toEqual({ rows: 1 });
    expect((await jobOf(db, id))["status"], "ended when transaction() resolves").toBe("succeeded");
    throw new Error("too late to change anything");
  });
  const ended = new Happening<string>();
  const hooks = {
    onSuccess: ({ id }: { id: string }) => ended.now(id),
    onFailure: () => expect.fail("no failure"),
  };
  const summary = await makeWorker(forge, { handlers: [handler], hooks }).tick();
  expect(statusInside.values).toEqual(["running"]);
  expect(summary).toMatchObject({ claimed: 1, succeeded: 1, retried: 0 });
  expect(ended.values).toEqual([id]);
  expect(await db.value("select count(*)::int from transcripts")).toBe(1);
  expect(await jobOf(db, id)).toMatchObject({ status: "succeeded", cost_cents: 9 });
  expect(await db.value("select result from jobforge_job_results")).toEqual({ rows: 1 });
  expect(await db.value("select count(*)::int from jobforge_jobs where type = 'transcribe'")).toBe(1);
});

test("a transaction() whose work throws leaves nothing behind, and the run fails", async ({ db, forge }) => {
  await db.query("create table transcripts (call text)");
  const { id } = await forge.enqueue(extract, { call: "c1" }, { tenantId: T });
  const handler = extract.handle(async ({ call }, job) => {
    await job.transaction(async (client) => {
      await (client as pg.PoolClient).query("insert into transcripts values ($1)", [call]);
      throw new Error("changed my mind");
    });
  });
  await makeWorker(forge, { handlers: [handler] }).tick();
  expect(await db.value("select count(*)::int from transcripts")).toBe(0);
  expect(await jobOf(db, id)).toMatchObject({ status: "queued", last_error: "changed my mind" });
});

test("a transaction() of a run that lost its lease is rolled back", async ({ db, forge }) => {
  await db.query("create table transcripts (call text)");
  const { id } = await forge.enqueue(extract, { call: "c1" }, { tenantId: T });
  const stale = new Happening<string>();
  const handler = extract.handle(async ({ call }, job) => {
    await job.transaction(async (client) => {
      await (client as pg.PoolClient).query("insert into transcripts values ($1)", [call]);
      await loseLeases(db);
      expect((await jobOf(db, id))["status"]).toBe("queued");
    });
  });
  const hooks = { onStale: ({ id }: { id: string }) => stale.now(id) };
  const summary = await makeWorker(forge, { handlers: [handler], hooks }).tick({ limit: 1 });
  expect(summary).toMatchObject({ stale: 1, succeeded: 0 });
  expect(stale.values).toEqual([id]);
  expect(await db.value("select count(*)::int from transcripts")).toBe(0);
  expect(await attemptsOf(db, id)).toEqual(["lost"]);
});

test("an invalid output of transaction() rolls it back and fails the job", async ({ db, forge }) => {
  await db.query("create table transcripts (call text)");
  const sum = defineJob({ type: "sum", output: z.object({ total: z.number() }) });
  const { id } = await forge.enqueue(sum, {}, { tenantId: T });
  const handler = sum.handle(async (_, job) => {
    return await job.transaction(async (client) => {
      await (client as pg.PoolClient).query("insert into transcripts values ('c1')");
      return JSON.parse('{"total": "7"}');
    });
  });
  await makeWorker(forge, { handlers: [handler] }).tick();
  expect(await db.value("select count(*)::int from transcripts")).toBe(0);
  expect(await jobOf(db, id)).toMatchObject({ status: "failed", error: { name: "InvalidValueError" } });
});

test("a result of exactly 1 MiB is stored", async ({ db, forge }) => {
  const { id } = await forge.enqueue(extract, { call: "c1" }, { tenantId: T });
  const handler = extract.handle(() => "x".repeat(1024 * 1024 - 2));
  expect(await makeWorker(forge, { handlers: [handler] }).tick()).toMatchObject({ succeeded: 1 });
  expect(
    await db.value("select octet_length(result::text) from jobforge_job_results where job_id = $1", [id]),
  ).toBe(1024 * 1024);
});

/** Plain JSON that is nested deeper than a Postgres with a small stack can read. */
function tooDeep(): unknown {
  let value: unknown = 1;
  for (let depth = 0; depth < 3_500; depth += 1) value = [value];
  return value;
}

const oddResults: Readonly<Record<number, () => unknown>> = {
  3: () => "with a \u0000 in it",
  4: () => 10n,
  5: () => tooDeep(),
  6: () => "half a pair: \ud83d",
  7: () => "x".repeat(1_100_000),
};

test("a result that cannot be stored does not affect the other results of its batch", async ({
  db,
  forge,
}) => {
  const noisy = defineJob({ type: "noisy", input: z.object({ n: z.number() }) });
  await db.query(`alter database ${db.name} set max_stack_depth = '400kB'`);
  await enqueueMany(db, "noisy", 40);
  const log = keptLog();
  await startWorker(forge, {
    concurrency: 40,
    logger: log.logger,
    handlers: [noisy.handle(async ({ n }) => (oddResults[n] ?? (() => ({ n })))())],
  });
  await untilFinished(db, 40);
  expect(await statuses(db)).toEqual({ succeeded: 37, failed: 3 });
  const results = await db.query<{ n: number; result: unknown }>(
    `select (j.payload ->> 'n')::int as n, r.result from jobforge_jobs j join jobforge_job_results r on r.job_id = j.id
     order by 1`,
  );
  expect(results).toHaveLength(37);
  expect(results.find(({ n }) => n === 3)?.result).toBe("with a \uFFFD in it");
  expect(results.find(({ n }) => n === 6)?.result).toBe("half a pair: \uFFFD");
  expect(results.find(({ n }) => n === 8)?.result).toEqual({ n: 8 });
  const failed = await db.query<{ n: number; name: string }>(
    "select (payload ->> 'n')::int as n, error ->> 'name' as name from jobforge_jobs where status = 'failed' order by 1",
  );
  expect(failed).toEqual([
    { n: 4, name: "InvalidArgumentError" },
    { n: 5, name: "InvalidResult" },
    { n: 7, name: "InvalidResult" },
  ]);
});
