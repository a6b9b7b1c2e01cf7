/** Claims are bounded by bytes as well as by number, so that no tenant's large jobs make a claim too large. */
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claim, enqueue, type Sql, T, U } from "../support/kernel.ts";
import { setLimit } from "../support/limits.ts";
import { type Settlement, settle } from "../support/settle.ts";

const mib = 1024 * 1024;
const almostMib = mib - 100;
/** What one claim may have: jobforge.claim_bytes(). */
const most = 16 * mib;

/**
 * Enqueues jobs whose payload counts as this many bytes. They are stored as 5 kB, because a test with real sizes takes
 * seconds.
 */
async function enqueueLarge(db: Sql, count: number, bytes: number, tenant: string = T): Promise<void> {
  await db.query(
    `select jobforge_enqueue_jobs($1, (
       select jsonb_agg(jsonb_build_object('type', 'a', 'payload', repeat('a', 5000), 'subject', n::text))
       from generate_series(1, $2::int) n))`,
    [tenant, count],
  );
  await db.query("update jobforge.payloads set bytes = $1 where bytes = 5002", [bytes]);
}

async function enqueueSmall(db: Sql, count: number, tenant: string = T): Promise<void> {
  await db.query(
    'select jobforge_enqueue_jobs($1, (select jsonb_agg(\'{"type":"a"}\'::jsonb) from generate_series(1, $2::int)))',
    [tenant, count],
  );
}

/** Claims until nothing more is due, and returns the number of jobs of each claim. */
async function claimAll(claimSome: () => Promise<readonly unknown[]>): Promise<number[]> {
  const counts: number[] = [];
  for (;;) {
    const jobs = await claimSome();
    if (jobs.length === 0) return counts;
    counts.push(jobs.length);
  }
}

describe("with 40 jobs of almost 1 MiB,", () => {
  test("jobforge_claim_jobs returns 16 at a time, in order", async ({ db }) => {
    await enqueueLarge(db, 40, almostMib);
    const seen: string[] = [];
    const counts = await claimAll(async () => {
      const jobs = await db.query<{ subject: string }>("select subject from jobforge_claim_jobs('w1', 100)");
      seen.push(...jobs.map((job) => job.subject));
      return jobs;
    });
    expect(counts).toEqual([16, 16, 8]);
    expect(seen).toEqual(Array.from({ length: 40 }, (_, n) => String(n + 1)));
  });

  for (const name of ["jobforge_settle_jobs", "jobforge_settle_jobs_text"]) {
    test(`${name} returns 16 at a time and says that there are more, with and without a hint`, async ({
      db,
    }) => {
      for (const withHint of [true, false]) {
        await enqueueLarge(db, 40, almostMib);
        let hint: unknown = null;
        const more: (boolean | undefined)[] = [];
        const counts = await claimAll(async () => {
          const response: Settlement & { more?: boolean } = await db.value(
            `select string_agg(part::text, '')::jsonb from ${name}('w1', '[]', 100, '{a}', null, $1) part`,
            [JSON.stringify(withHint ? hint : null)],
          );
          hint = response.hint;
          more.push(response.more);
          return response.jobs;
        });
        expect(counts).toEqual([16, 16, 8]);
        expect(more).toEqual([true, true, undefined, undefined]);
      }
    });
  }
});

test("a claim of 300 jobs of 1 MiB works, and settles what it was given", async ({ db }) => {
  await enqueue(db, { type: "first" });
  const [held] = await claim(db, "w1", { types: ["first"] });
  await db.query(
    `select jobforge_enqueue_job($1, 'a', to_jsonb(repeat('a', $2))) from generate_series(1, 300)`,
    [T, almostMib],
  );
  const response = await settle(db, [{ id: held?.id, attempt: 1, status: "succeeded" }], { claim: 300 });
  expect(response.settled).toMatchObject([{ outcome: "ok", status: "succeeded" }]);
  expect(response.jobs.map((job) => String(job.payload).length)).toEqual(Array(16).fill(almostMib));
});

test("small jobs of other tenants are claimed together with large ones, whatever their turn", async ({
  db,
}) => {
  for (let round = 0; round < 3; round += 1) {
    await enqueueLarge(db, 40, almostMib);
    await enqueueSmall(db, 30, U);
    const jobs = await claim(db, "w1", { limit: 60 });
    expect(jobs.filter((job) => job.tenant_id === U)).toHaveLength(30);
    expect(jobs.filter((job) => job.tenant_id === T)).toHaveLength(16);
    await db.query('select jobforge_cancel_jobs($1, \'{"status":"queued"}\')', [T]);
  }
});

test("tenants with large jobs share the bytes of a claim equally", async ({ db }) => {
  await enqueueLarge(db, 40, almostMib);
  await enqueueLarge(db, 80, almostMib / 2, U);
  const jobs = await claim(db, "w1", { limit: 100 });
  expect(jobs.filter((job) => job.tenant_id === T)).toHaveLength(8);
  expect(jobs.filter((job) => job.tenant_id === U)).toHaveLength(16);
});

test("no job passes an older one of its tenant that is too large for the claim", async ({ db }) => {
  await enqueueLarge(db, 17, almostMib);
  await enqueueSmall(db, 5);
  expect(await claim(db, "w1", { limit: 100 })).toHaveLength(16);
  const rest = await claim(db, "w1", { limit: 100 });
  expect(rest.map((job) => typeof job.payload)).toEqual(["string", ...Array(5).fill("object")]);
});

test("jobs that are left out because of their size take no token and are not parked", async ({ db }) => {
  await db.query("select jobforge_set_limit('type', 'a', null, 40, '1 hour')");
  await enqueueLarge(db, 40, almostMib);
  for (const expected of [16, 16, 8]) expect(await claim(db, "w1", { limit: 100 })).toHaveLength(expected);
});

test("numbers that print longer than they are stored count as what they print", async ({ db }) => {
  // Stored in about 20 bytes, printed in 131 kB.
  const payload = `[${Array(7).fill("1e131071").join()}]`;
  await db.query(
    `select jobforge_enqueue_jobs($1, (
       select jsonb_agg(jsonb_build_object('type', 'a', 'payload', $2::jsonb)) from generate_series(1, 20)))`,
    [T, payload],
  );
  const sizes = await db.query<{ bytes: number }>("select bytes from jobforge.payloads");
  expect(sizes).toHaveLength(20);
  const jobs = await db.query<{ bytes: number }>(
    "select octet_length(payload::text) as bytes from jobforge_claim_jobs('w1', 100)",
  );
  expect(jobs).toHaveLength(18);
  expect(sizes[0]).toEqual(jobs[0]);
});

test("progress and tags count as well", async ({ db }) => {
  await enqueueSmall(db, 400);
  await claim(db, "w1", { limit: 400 });
  await db.query(
    `select jobforge_progress_job(id, 'w1', to_jsonb(repeat('p', 65000))), jobforge_defer_job(id, 'w1', now())
     from jobforge_jobs`,
  );
  await db.travel("1 second");
  const jobs = await claim(db, "w1", { limit: 400 });
  expect(jobs).toHaveLength(Math.floor(most / 65_002 / 1.0001));
});

test("a job of a schedule, a replaced and an updated payload are measured", async ({ db }) => {
  const large = "a".repeat(5000);
  await enqueue(db, { payload: 1, dedupe_key: "d" });
  await enqueue(db, { payload: large, dedupe_key: "d", dedupe_mode: "replace" });
  const { id } = await enqueue(db, { payload: 1 });
  await db.query("select jobforge_update_job($1, $2, $3)", [id, T, JSON.stringify({ payload: large })]);
  await db.query("select jobforge_ensure_schedule($1, 'a', 's', $2)", [
    T,
    JSON.stringify({ cron: "* * * * *", payload: large }),
  ]);
  await db.travel("1 minute");
  await claim(db, "w1", { limit: 100 });
  expect(await db.query("select bytes from jobforge.payloads")).toEqual(
    Array(3).fill({ bytes: large.length + 2 }),
  );
});

test("jobs that a claim left out stay in the queue, and another worker gets them", async ({ db }) => {
  await enqueueLarge(db, 20, almostMib);
  expect(await claim(db, "w1", { limit: 100 })).toHaveLength(16);
  expect(await claim(db, "w2", { limit: 100 })).toHaveLength(4);
});

const nested = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);

test("a payload with more levels than a claim can return is refused, as is such progress", async ({ db }) => {
  const enqueueNested = (levels: number): Promise<unknown> =>
    db.query("select jobforge_enqueue_job($1, 'a', $2::jsonb)", [T, nested(levels)]);
  await expect(enqueueNested(4001)).rejects.toMatchObject({ code: "JF002" });
  await expect(
    db.query("select jobforge_enqueue_jobs($1, $2::jsonb)", [
      T,
      `[{"type":"a","payload":${nested(12_000)}}]`,
    ]),
  ).rejects.toMatchObject({ code: "JF002" });
  await enqueueNested(4000);
  const { jobs } = await settle(db, [], { claim: 1 });
  expect(jobs).toHaveLength(1);
  const progress = (levels: number): Promise<unknown> =>
    db.query("select jobforge_progress_job($1, 'w1', $2::jsonb)", [jobs[0]?.id, nested(levels)]);
  await expect(progress(4001)).rejects.toMatchObject({ code: "JF002" });
  await progress(4000);
});

test("a claim that fails undoes no settle, also if its jobs cannot be parsed as jsonb", async ({ db }) => {
  await enqueue(db, { type: "first" });
  const [held] = await claim(db, "w1", { types: ["first"] });
  await enqueue(db);
  await db.query("update jobforge.queue set payload = $1::jsonb where type = 'a'", [nested(10_000)]);
  await db.query("set max_stack_depth = '600kB'");
  const response = await settle(db, [{ id: held?.id, attempt: 1, status: "succeeded" }], { claim: 1 });
  expect(response).toMatchObject({ settled: [{ outcome: "ok" }], jobs: [], claim_error: { code: "54001" } });
});

test("large jobs that a limit refuses leave the bytes of a claim to others", async ({ db }) => {
  await setLimit(db, "tenant", T, { max: 1 });
  await enqueueLarge(db, 100, almostMib);
  await enqueue(db, { type: "a", tenant_id: U, priority: -5 });
  expect((await claim(db, "w", { limit: 100 })).map((job) => job.tenant_id)).toEqual([T]);
  expect((await claim(db, "w", { limit: 100 })).map((job) => job.tenant_id)).toEqual([U]);
});

test("jobs that are larger than the memory for sorting come in their order, and nothing is written to disk", async ({
  db,
}) => {
  await db.query(
    `select jobforge_enqueue_jobs($1, (
       select jsonb_agg(jsonb_build_object('type', 'a', 'priority', n % 3, 'payload', jsonb_build_object(
         'n', n, 'text', (select string_agg(md5(n::text || m), '') from generate_series(1, 1000) m))))
       from generate_series(1, 200) n))`,
    [T],
  );
  await db.query("set work_mem = '1MB'");
  await db.query("create temp table answers (place serial, part text)");
  const [explained] = await db.value<{ Plan: Record<string, number> }[]>(
    `explain (analyze, buffers, timing off, format json)
     insert into answers (part) select jobforge_settle_jobs_text('w1', '[]', 200)`,
  );
  expect(explained?.Plan["Temp Written Blocks"]).toBe(0);
  const answer = "select string_agg(part, '' order by place) from answers";
  const { jobs } = JSON.parse(await db.value<string>(answer)) as {
    jobs: { priority: number; payload: { n: number } }[];
  };
  const order = jobs.map(({ priority, payload: { n } }) => priority * 1000 + (200 - n));
  expect(order).toHaveLength(200);
  expect(order).toEqual(order.toSorted((a, b) => b - a));
});
