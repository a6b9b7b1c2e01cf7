/** Pages are bounded by bytes as well as by rows. The next page goes on where the last one ended. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claim, claimIds, complete, enqueue, expectError, fail, type Sql, T } from "../support/kernel.ts";

const mib = 1024 * 1024;

/** Enqueues jobs with a payload of this many bytes as text. The text compresses well. */
async function enqueueLarge(db: Sql, count: number, bytes: number): Promise<string[]> {
  const made = await db.query<{ id: string }>(
    `select jobforge_enqueue_job($1, 'a', to_jsonb(repeat('a', $2 - 2)), p_subject => n::text) ->> 'id' as id
     from generate_series(1, $3::int) n`,
    [T, bytes, count],
  );
  return made.map(({ id }) => id).reverse();
}

/** Reads pages with their cursor until one is empty. Returns the ids of each. */
async function pagesOf(
  db: Sql,
  call: string,
  filters: object,
  more: readonly unknown[] = [],
): Promise<string[][]> {
  const pages: string[][] = [];
  let cursor: string | undefined;
  for (;;) {
    const rows = await db.query<{ id: string }>(`select id from ${call}`, [
      JSON.stringify({ limit: 1000, cursor, ...filters }),
      ...more,
    ]);
    cursor = rows.at(-1)?.id;
    if (cursor === undefined) return pages;
    pages.push(rows.map(({ id }) => id));
  }
}

test("a page of jobs has at most 8 MiB, for every list of jobs, live and finished", async ({ db }) => {
  const ids = await enqueueLarge(db, 18, mib - 100);
  const [done = "", failed = ""] = await claimIds(db, "w1", { limit: 2 });
  await complete(db, done);
  await fail(db, failed, { retry: false });
  for (const [call, more] of [
    ["jobforge_list_jobs($2, $1)", [T]],
    ["jobforge_search_jobs($1)", []],
  ] as const) {
    const pages = await pagesOf(db, call, {}, more);
    expect(pages.map((page) => page.length)).toEqual([8, 8, 2]);
    expect(pages.flat()).toEqual(ids);
    expect((await pagesOf(db, call, { limit: 5 }, more)).map((page) => page.length)).toEqual([5, 5, 5, 3]);
  }
});

test("numbers that print longer than they are stored count as what they print", async ({ db }) => {
  await db.query(
    `select jobforge_enqueue_jobs($1, (
       select jsonb_agg('{"type":"a","payload":[1e131071,1e131071,1e131071]}'::jsonb) from generate_series(1, 30)))`,
    [T],
  );
  const pages = await pagesOf(db, "jobforge_list_jobs($2, $1)", {}, [T]);
  expect(pages.map((page) => page.length)).toEqual([21, 9]);
});

test("a page of small jobs has as many as its limit", async ({ db }) => {
  await db.query(
    `select jobforge_enqueue_jobs($1, (
       select jsonb_agg(jsonb_build_object('type', 'a', 'payload', repeat('a', 1400))) from generate_series(1, 1000)))`,
    [T],
  );
  const pages = await pagesOf(db, "jobforge_list_jobs($2, $1)", {}, [T]);
  expect(pages.map((page) => page.length)).toEqual([1000]);
});

test("pages of schedules and of their runs have at most 8 MiB", async ({ db }) => {
  await db.query(
    `select jobforge_ensure_schedule($1, 'a', 's' || n, jsonb_build_object(
       'cron', '* * * * *', 'overlap', 'allow', 'missed', 'all', 'payload', repeat('a', $2)))
     from generate_series(1, 9) n`,
    [T, mib - 100],
  );
  const schedules = await pagesOf(db, "jobforge_list_schedules($2, $1)", {}, [T]);
  expect(schedules.map((page) => page.length)).toEqual([7, 2]);
  await db.travel("10 minutes");
  await claim(db, "w1");
  const runs = await pagesOf(db, "jobforge_list_schedule_runs($2, 'a', 's1', $1)", {}, [T]);
  // A run for each of ten minutes, and one more if a minute has begun since the schedules were made.
  expect([
    [8, 2],
    [8, 3],
  ]).toContainEqual(runs.map((page) => page.length));
});

test("attempts are listed in pages of 200", async ({ db }) => {
  const { id } = await enqueue(db);
  await db.query(
    `insert into jobforge.attempts (job_id, attempt_no, tenant_id, status, worker_id, started_at, finished_at)
     select $1, n, $2, 'deferred', 'w', now(), now() from generate_series(1, 450) n`,
    [id, T],
  );
  const pageAfter = async (after?: number): Promise<number[]> => {
    const rows = await db.query<{ attempt_no: number }>(
      `select attempt_no from jobforge_list_attempts($1, $2${after === undefined ? "" : `, ${after}`})`,
      [id, T],
    );
    return rows.map((row) => row.attempt_no);
  };
  const numbers = (from: number, to: number): number[] =>
    Array.from({ length: to - from + 1 }, (_, n) => from + n);
  expect(await pageAfter()).toEqual(numbers(1, 200));
  expect(await pageAfter(200)).toEqual(numbers(201, 400));
  expect(await pageAfter(400)).toEqual(numbers(401, 450));
  expect(await pageAfter(450)).toEqual([]);
});

test("a page of the audit log has at most 8 MiB", async ({ db }) => {
  await db.query(
    `select jobforge_cancel_jobs($1, jsonb_build_object('subject', repeat('a', $2) || n))
     from generate_series(1, 20) n`,
    [T, mib - 1000],
  );
  for (const [call, more] of [
    ["jobforge_list_audit($2, $1)", [T]],
    ["jobforge_list_audit(null, $1)", []],
  ] as const) {
    const pages = await pagesOf(db, call, { action: "JOBS_CANCELED" }, more);
    expect(pages.map((page) => page.length)).toEqual([8, 8, 4]);
  }
  await expectError(
    db.query("select jobforge_cancel_jobs($1, jsonb_build_object('subject', repeat('a', $2)))", [T, mib]),
    "JF008",
    "filters",
  );
});

test("the list of workers has at most 8 MiB, those seen last", async ({ db }) => {
  await db.query(
    `select jobforge_heartbeat_worker('w' || n, jsonb_build_object('version', repeat('a', 16000)))
     from generate_series(1, 700) n`,
  );
  await db.travel("10 seconds");
  await db.query("select jobforge_heartbeat_worker('w7', '{}')");
  const [{ count, bytes, first } = { count: 0, bytes: 0, first: "" }] = await db.query<{
    count: number;
    bytes: number;
    first: string;
  }>(
    `select count(*)::int as count, sum(octet_length(to_json(w)::text))::int as bytes, (array_agg(w.id))[1] as first
     from jobforge_list_workers() w`,
  );
  expect(first).toBe("w7");
  expect(count).toBeGreaterThan(500);
  expect(bytes).toBeLessThan(9 * mib);
});
