/** Moving jobs to another store and back: every step can be repeated, and no job is lost or doubled. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claim, claimAndFail, codeOf, enqueue, type Sql, T } from "../support/kernel.ts";

type Document = Readonly<Record<string, unknown>> & { readonly id: string };

async function move<R>(db: Sql, step: string, jobs: unknown = []): Promise<R> {
  return await db.value("select jobforge_move_jobs($1, '{mail}', $2)", [step, JSON.stringify(jobs)]);
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

test("only an operator moves jobs, and an unknown step is an error", async ({ db }) => {
  expect(await codeOf(move(db, "run"))).toBe("JF002");
  const worker = await db.createLogin("jobforge_worker");
  const connection = await db.connect(worker.url);
  expect(await codeOf(move(connection, "count"))).toBe("42501");
});
