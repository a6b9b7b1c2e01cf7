/** Many connections settle and claim at the same time, and none waits for a row or a transaction of another. */
import { setTimeout as sleep } from "node:timers/promises";
import type { TestConnection, TestDatabase } from "@jobforge/testing";
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { T, U } from "../support/kernel.ts";

const processes = 16;
const batch = 20;
const jobs = Number(process.env["JOBFORGE_PROOF_JOBS"] ?? 16_000);

/** The sessions in a settle: how many were seen, and for which rows or transactions they waited. */
interface Seen {
  active: number;
  waits: string[];
}

/** Samples what settles wait for, until the work has ended. Waits for the extension of a table do not count. */
async function watch(db: TestDatabase, work: Promise<unknown>, seen: Seen): Promise<void> {
  let isOver = false;
  const over = work.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    const sessions = await db.query<{ wait: string | null }>(
      `select case when wait_event_type = 'Lock' and wait_event in ('transactionid', 'tuple') then wait_event end as wait
       from pg_stat_activity
       where datname = current_database() and state = 'active' and query like '%jobforge_settle_jobs_text%'
         and pid <> pg_backend_pid()`,
    );
    seen.active += sessions.length;
    seen.waits.push(...sessions.flatMap(({ wait }) => wait ?? []));
    await sleep(5);
  }
  await over;
}

interface Answer {
  readonly jobs: { readonly id: string; readonly attempts: number }[];
  readonly hint: unknown;
}

/** Claims and settles until nothing is left. Returns how many jobs it has settled. */
async function drain(connection: TestConnection, worker: string): Promise<number> {
  let ends: object[] = [];
  let hint: unknown = null;
  let done = 0;
  for (;;) {
    const text = await connection.value<string>(
      "select jobforge_settle_jobs_text($1, $2, $3, '{a}', null, $4)",
      [worker, JSON.stringify(ends), batch, hint === null ? null : JSON.stringify(hint)],
    );
    const answer = JSON.parse(text) as Answer;
    done += ends.length;
    if (answer.jobs.length === 0) return done;
    ends = answer.jobs.map(({ id, attempts }) => ({ id, attempt: attempts, status: "succeeded" }));
    hint = answer.hint;
  }
}

test(`with ${processes} connections that settle and claim, no settle waits for another`, async ({ db }) => {
  for (const tenant of [T, U])
    await db.query(
      `select jobforge_enqueue_jobs($1, (select jsonb_agg('{"type": "a"}'::jsonb) from generate_series(1, 1000)))
       from generate_series(1, $2::int)`,
      [tenant, Math.ceil(jobs / 2000)],
    );
  const connections = await Promise.all(Array.from({ length: processes }, () => db.connect()));
  const work = Promise.all(connections.map((connection, n) => drain(connection, `w${n}`)));
  const seen: Seen = { active: 0, waits: [] };
  await watch(db, work, seen);
  const done = (await work).reduce((sum, count) => sum + count, 0);
  expect(done).toBe(Math.ceil(jobs / 2000) * 2000);
  expect(seen.waits).toEqual([]);
  // Enough was seen for a wait to be noticed.
  expect(seen.active).toBeGreaterThan(20);
});

test("a settle that waits for a row would be seen", async ({ db }) => {
  await db.query("select jobforge_enqueue_job($1, 'a')", [T]);
  const [worker, other] = [await db.connect(), await db.connect()];
  const { jobs: claimed } = JSON.parse(
    await worker.value<string>("select jobforge_settle_jobs_text('w1', '[]', 1, '{a}')"),
  ) as Answer;
  await other.query("begin");
  await other.query("select from jobforge.runs for update");
  const ends = claimed.map(({ id, attempts }) => ({ id, attempt: attempts, status: "succeeded" }));
  const settling = worker.query("select jobforge_settle_jobs_text('w1', $1)", [JSON.stringify(ends)]);
  const seen: Seen = { active: 0, waits: [] };
  const watched = watch(db, settling, seen);
  await expect.poll(() => seen.waits, { timeout: 30_000 }).toContain("transactionid");
  await other.query("commit");
  await watched;
});
