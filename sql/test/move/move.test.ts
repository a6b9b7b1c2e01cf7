/** Moving jobs to another store and back: every step can be repeated, and no job is lost or doubled. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claim, claimAndFail, codeOf, enqueue, type Sql, T } from "../support/kernel.ts";

type Document = Readonly<Record<string, unknown>> & { readonly id: string };

const moves = new WeakMap<Sql, unknown>();

async function begin(db: Sql): Promise<unknown> {
  return await db.value("select jobforge_move_jobs('begin', '{mail}')");
}

/** One step of the test's move, which begins with its first step. */
async function move<R>(db: Sql, step: string, jobs: unknown = [], id?: unknown): Promise<R> {
  if (step !== "count" && !moves.has(db)) moves.set(db, await begin(db));
  return await db.value("select jobforge_move_jobs($1, '{mail}', $2, p_move => $3)", [
    step,
    JSON.stringify(jobs),
    id ?? moves.get(db),
  ]);
}

/** Takes all jobs that may leave, and lets the other store have them. */
async function leave(db: Sql): Promise<Document[]> {
  const taken = await move<Document[]>(db, "take");
  const ids = taken.map(({ id }) => id);
  for (const step of ["send", "drop"]) await move(db, step, ids);
  return taken;
}

async function arrive(db: Sql, documents: readonly unknown[]): Promise<void> {
  await move(db, "receive", documents);
  await move(db, "release");
}

test("a job leaves and returns with its id, its keys, its due time and its runs", async ({ db }) => {
  const id = await db.value<string>(
    `select jobforge_enqueue_job($1, 'mail', '{"a": 1}', 'key', now() + interval '1 hour', 7, 3, 'dedupe',
       p_tags => '{x}', p_subject => 's') ->> 'id'`,
    [T],
  );
  const before = await db.query("select to_jsonb(j) - 'updated_at' as job from jobforge_jobs j");
  expect(await move(db, "count")).toEqual({ jobs: 1, left: 0 });
  const taken = await move<Document[]>(db, "take");
  expect(taken).toMatchObject([{ id, priority: 3, max_attempts: 7, payload: { a: 1 }, tags: ["x"] }]);
  expect(await move(db, "take")).toEqual(taken);
  expect(await db.query("select id from jobforge_jobs")).toEqual([]);
  for (const step of ["send", "send", "drop", "drop"]) await move(db, step, [id]);
  expect(await move(db, "take")).toEqual([]);
  expect(await move(db, "receive", taken)).toBe(1);
  expect(await move(db, "receive", taken)).toBe(0);
  expect(await db.query("select id from jobforge_jobs")).toEqual([]);
  expect(await move(db, "release")).toBe(1);
  expect(await move(db, "release")).toBe(0);
  expect(await db.query("select to_jsonb(j) - 'updated_at' as job from jobforge_jobs j")).toEqual(before);
});

test("a job that was sent stays until it is dropped, and a job that was not sent cannot be dropped", async ({
  db,
}) => {
  const { id } = await enqueue(db, { type: "mail" });
  await move(db, "take");
  await move(db, "drop", [id]);
  expect(await move<Document[]>(db, "take")).toHaveLength(1);
  await move(db, "send", [id]);
  expect(await move<Document[]>(db, "take")).toEqual([]);
  expect(await move<Document[]>(db, "sent")).toHaveLength(1);
});

test("a retrying job keeps its failures, and its next wait follows from them", async ({ db }) => {
  await enqueue(db, { type: "mail" });
  await claimAndFail(db);
  const [document] = await move<Document[]>(db, "take");
  expect(document).toMatchObject({ attempts: 1, failures: 1, uncounted: 0 });
  expect(await codeOf(move(db, "receive", [document]))).toBe("JF002");
  await move(db, "send", [document?.id]);
  await move(db, "drop", [document?.id]);
  await move(db, "receive", [document]);
  await move(db, "release");
  expect(await db.value("select attempts from jobforge_jobs")).toBe(1);
});

test("running jobs, runs of schedules, jobs with a concurrency key and other types stay", async ({ db }) => {
  await enqueue(db, { type: "mail" });
  await claim(db, "w1");
  await db.query("select jobforge_enqueue_job($1, 'mail', p_concurrency_key => 'k')", [T]);
  await enqueue(db, { type: "other" });
  expect(await move(db, "count")).toEqual({ jobs: 0, left: 1 });
  expect(await move(db, "take")).toEqual([]);
  expect(await db.value("select count(*)::int from jobforge_jobs")).toBe(3);
});

test("a key that another job has taken meanwhile is dropped, and the job runs", async ({ db }) => {
  await db.query("select jobforge_enqueue_job($1, 'mail', p_dedupe_key => 'd')", [T]);
  const [document] = await move<Document[]>(db, "take");
  await move(db, "send", [document?.id]);
  await move(db, "drop", [document?.id]);
  await db.query("select jobforge_enqueue_job($1, 'mail', p_dedupe_key => 'd')", [T]);
  await move(db, "receive", [document]);
  expect(await move(db, "release")).toBe(1);
  expect(await db.query("select dedupe_key from jobforge_jobs order by dedupe_key")).toEqual([
    { dedupe_key: "d" },
    { dedupe_key: null },
  ]);
});

test("what only this database can keep stays here", async ({ db }) => {
  const ids: string[] = [];
  for (let n = 0; n < 5; n += 1) ids.push((await enqueue(db, { type: "mail" })).id);
  const [step, signal, notice, artifact, plain] = ids;
  await db.query(
    "insert into jobforge.checkpoints (job_id, name, tenant_id, kind, attempt, done, at) values ($1, 'a', $2, 'step', 1, true, now())",
    [step, T],
  );
  await db.query(
    "insert into jobforge.signals (tenant_id, target_id, name, sent_at, sent_by) values ($2, $1, 'go', now(), 'test')",
    [signal, T],
  );
  await db.query(
    `insert into jobforge.job_notices (job_id, tenant_id, target, events, live)
     values ($1, $2, '{"url": "https://example.com"}', '{job.dead}', true)`,
    [notice, T],
  );
  await db.query(
    `insert into jobforge.artifacts (id, area, tenant_id, job_id, noted_at, check_at)
     values (gen_random_uuid(), 'payloads', $2, $1, now(), now())`,
    [artifact, T],
  );
  expect(await move(db, "count")).toEqual({ jobs: 1, left: 4 });
  expect(await move(db, "take")).toMatchObject([{ id: plain }]);
});

test("only the last move that has begun goes on", async ({ db }) => {
  await enqueue(db, { type: "mail" });
  const [document] = await move<Document[]>(db, "take");
  const older = moves.get(db);
  const newer = await begin(db);
  for (const step of ["take", "sent", "send", "drop", "receive", "release"])
    expect(await codeOf(move(db, step, step === "receive" ? [document] : [], older)), step).toBe("JF002");
  expect(await move(db, "take", [], newer)).toEqual([document]);
  expect(await codeOf(move(db, "take", [], "11111111-1111-4111-8111-111111111111"))).toBe("JF002");
});

test("a newer document replaces the older one, and only the released ids are queued", async ({ db }) => {
  for (let n = 0; n < 2; n += 1) await enqueue(db, { type: "mail", payload: { n } });
  const [first, second] = await leave(db);
  await move(db, "receive", [first, second]);
  expect(await move(db, "receive", [{ ...first, payload: { n: 7 } }])).toBe(0);
  expect(await move(db, "release", [first?.id])).toBe(1);
  expect(await db.query("select payload from jobforge_jobs")).toEqual([{ payload: { n: 7 } }]);
  expect(await move(db, "release")).toBe(1);
});

test("a job that was canceled in the other store arrives as canceled", async ({ db }) => {
  const { id } = await enqueue(db, { type: "mail" });
  const [document] = await leave(db);
  await arrive(db, [{ ...document, canceled: true }]);
  expect(await db.query("select id, status::text, reason from jobforge_jobs")).toEqual([
    { id, status: "canceled", reason: "canceled" },
  ]);
});

test("a job that has run here and arrives again under its id does not run again", async ({ db }) => {
  await enqueue(db, { type: "mail" });
  const [document] = await leave(db);
  await arrive(db, [document]);
  const [job] = await claim(db, "w1");
  await db.query("select jobforge_complete_job($1, 'w1', 'succeeded')", [job?.id]);
  await arrive(db, [document]);
  expect(await db.query("select status::text from jobforge_jobs")).toEqual([{ status: "succeeded" }]);
});

test("a job whose id another store has made is found after it has ended", async ({ db }) => {
  await enqueue(db, { type: "mail" });
  const [document] = await leave(db);
  // Of versions 4 and 8. As times, their first digits are far in the future.
  const ids = ["ffffffff-ffff-4fff-8fff-ffffffffffff", "eeeeeeee-eeee-8eee-8eee-eeeeeeeeeeee"];
  for (const id of ids) await arrive(db, [{ ...document, id }]);
  for (const { id } of await claim(db, "w1"))
    await db.query("select jobforge_complete_job($1, 'w1', 'succeeded')", [id]);
  for (const id of ids)
    expect(await db.value("select status::text from jobforge_get_job($1, $2)", [id, T])).toBe("succeeded");
});

test("an expired job arrives too, and two jobs with one key arrive both", async ({ db }) => {
  for (let n = 0; n < 2; n += 1) await enqueue(db, { type: "mail" });
  const [first, second] = await leave(db);
  const past = new Date(Date.now() - 60_000).toISOString();
  await arrive(db, [
    { ...first, expires_at: past, idempotency_key: "k", dedupe_key: "d" },
    { ...second, idempotency_key: "k", dedupe_key: "d" },
  ]);
  expect(
    await db.query("select idempotency_key as key, dedupe_key as dedupe from jobforge_jobs order by 1"),
  ).toEqual([
    { key: "k", dedupe: "d" },
    { key: null, dedupe: null },
  ]);
  expect(await claim(db, "w1")).toMatchObject([{ id: second?.id }]);
});

test("a job returns with its losses in a row, progress, cost and error", async ({ db }) => {
  await enqueue(db, { type: "mail" });
  const [document] = await leave(db);
  const error = { name: "LeaseLost", message: "gone" };
  const runs = {
    attempts: 3,
    uncounted: 1,
    failures: 2,
    losses: 2,
    progress: { done: 1 },
    error,
    cost_cents: 4,
  };
  await arrive(db, [{ ...document, ...runs }]);
  expect(await move<Document[]>(db, "take")).toMatchObject([runs]);
});

test("only an operator moves jobs, and an unknown step is an error", async ({ db }) => {
  expect(await codeOf(move(db, "run"))).toBe("JF002");
  expect(await codeOf(db.value("select jobforge_move_jobs('count', '{a b}')"))).toBe("JF002");
  const worker = await db.createLogin("jobforge_worker");
  const connection = await db.connect(worker.url);
  expect(await codeOf(move(connection, "count"))).toBe("42501");
});

test("a response has as many large documents as it can have, and the next one has the others", async ({
  db,
}) => {
  await db.query(
    `select jobforge_enqueue_job($1, 'mail', jsonb_build_object('text', repeat('x', 1000000)))
     from generate_series(1, 20)`,
    [T],
  );
  const seen: string[] = [];
  for (const least of [15, 1]) {
    const taken = await move<Document[]>(db, "take");
    expect(taken.length).toBeGreaterThanOrEqual(least);
    expect(taken.length).toBeLessThan(20);
    const ids = taken.map(({ id }) => id);
    seen.push(...ids);
    await move(db, "send", ids);
  }
  expect(new Set(seen).size).toBe(20);
  expect(await move(db, "take")).toEqual([]);
  const sent = await move<Document[]>(db, "sent");
  expect(sent.length).toBeLessThan(20);
  await move(db, "drop", seen);
  expect(await move(db, "sent")).toEqual([]);
});
