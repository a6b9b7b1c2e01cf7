/** Holds: jobs of a concurrency key wait until a time, and nothing else does. */
import type { TestDatabase } from "@jobforge/testing";
import { expect } from "vitest";
import { test } from "../../../test/database.ts";

const T = "11111111-1111-4111-8111-111111111111";

async function enqueue(db: TestDatabase, key: string | null, count = 1): Promise<void> {
  await db.query(
    "select jobforge_enqueue_job($1, 'sync', p_concurrency_key => $2) from generate_series(1, $3::int)",
    [T, key, count],
  );
}

async function claim(db: TestDatabase, count = 10): Promise<{ id: string; attempts: number }[]> {
  return await db.query("select id, attempts from jobforge_claim_jobs('w', $1, array['sync'])", [count]);
}

async function hold(db: TestDatabase, id: string, wait: string): Promise<unknown> {
  return await db.value("select jobforge_hold_key($1, 'w', jobforge.now() + $2::interval)", [id, wait]);
}

/** Ends all runs, so that none is lost while the clock moves. */
async function settle(db: TestDatabase): Promise<void> {
  await db.query(
    "select jobforge_complete_job(id, 'w', 'succeeded') from jobforge_jobs where status = 'running'",
  );
}

async function first(db: TestDatabase): Promise<string> {
  const [job] = await claim(db, 1);
  return job?.id ?? expect.fail("No job was claimed.");
}

test("a held key starts no job until its time, and other keys continue", async ({ db }) => {
  await enqueue(db, "acme", 3);
  await hold(db, await first(db), "10 minutes");
  await enqueue(db, "other");
  await enqueue(db, null);
  expect(await claim(db)).toHaveLength(2);
  expect(await claim(db)).toHaveLength(0);
  await settle(db);
  await db.travel("11 minutes");
  expect(await claim(db)).toHaveLength(2);
});

test("the latest time of several holds counts, and a passed one is forgotten", async ({ db }) => {
  await enqueue(db, "acme", 2);
  const id = await first(db);
  await hold(db, id, "1 hour");
  expect(await hold(db, id, "1 minute")).toMatchObject({ concurrency_key: "acme" });
  await settle(db);
  await db.travel("2 minutes");
  expect(await claim(db)).toHaveLength(0);
  await db.travel("62 minutes");
  expect(await claim(db)).toHaveLength(1);
  await db.query("select jobforge_maintain()");
  expect(await db.value("select count(*)::int from jobforge.key_holds")).toBe(0);
});

test("only the worker that runs a job of the key holds it, for at most a day", async ({ db }) => {
  await enqueue(db, "acme");
  const id = await first(db);
  const until = "jobforge.now() + interval '1 minute'";
  await expect(db.query(`select jobforge_hold_key($1, 'x', ${until})`, [id])).rejects.toMatchObject({
    code: "JF003",
  });
  await expect(db.query(`select jobforge_hold_key($1, 'w', ${until}, 7)`, [id])).rejects.toMatchObject({
    code: "JF003",
  });
  await expect(hold(db, id, "2 days")).rejects.toMatchObject({ code: "JF002" });
  await enqueue(db, null);
  expect(await hold(db, await first(db), "1 minute")).toEqual({ concurrency_key: null, until: null });
});

test("explain says until when a key is held, and why", async ({ db }) => {
  await enqueue(db, "acme", 2);
  const id = await first(db);
  await db.query(
    "select jobforge_hold_key($1, 'w', jobforge.now() + interval '1 hour', p_reason => 'It asked for it.')",
    [id],
  );
  const waiting = await db.value<string>("select id from jobforge_jobs where status = 'queued'");
  const why = await db.value<{ reasons: { reason: string; message: string }[] }>(
    "select jobforge_explain_job($1, $2)",
    [waiting, T],
  );
  expect(JSON.stringify(why)).toContain("It asked for it.");
  expect(JSON.stringify(why)).toContain('"held"');
});

test("a failure that names the earliest time waits for the later of it and the backoff", async ({ db }) => {
  await db.query(`select jobforge_set_policy('sync', '{"base_ms": 60000}')`);
  for (const [notBefore, gap] of [
    ["1 hour", 3600],
    ["1 second", 60],
  ] as const) {
    await enqueue(db, null);
    const [job] = await claim(db, 1);
    await db.query(
      `select jobforge_settle_jobs('w', jsonb_build_array(jsonb_build_object('id', $1::uuid, 'attempt', 1,
         'status', 'failed', 'not_before', jobforge.now() + $2::interval)))`,
      [job?.id, notBefore],
    );
    const waits = await db.value<number>(
      "select round(extract(epoch from run_at - jobforge.now()))::int from jobforge_jobs where id = $1",
      [job?.id],
    );
    expect(waits).toBeGreaterThan(gap - 30);
    expect(waits).toBeLessThanOrEqual(gap);
  }
});
