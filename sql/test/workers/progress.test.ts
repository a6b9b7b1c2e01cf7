/** jobforge_progress_job: a run reports its progress. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  cancel,
  claim,
  complete,
  enqueue,
  enqueueAll,
  expectError,
  find,
  type Sql,
  U,
  unknownId,
} from "../support/kernel.ts";
import { boundLogin } from "../support/tenants.ts";

async function progress(db: Sql, id: string, value: unknown, worker = "w1", attempt: number | null = null) {
  return await db.value("select jobforge_progress_job($1, $2, $3, $4)", [
    id,
    worker,
    JSON.stringify(value),
    attempt,
  ]);
}

test("progress is shown while the job runs and afterwards, and counts as a heartbeat", async ({ db }) => {
  const { id } = await enqueue(db);
  await claim(db);
  await db.travel("4 minutes");
  for (const value of [{ done: 1, of: 3 }, "half", 0.5, [1]]) {
    expect(await progress(db, id, value)).toMatchObject({ cancel_requested: false });
    expect(await db.value("select progress from jobforge_jobs where id = $1", [id])).toEqual(value);
  }
  await db.travel("8 minutes");
  expect(await claim(db, "w2")).toEqual([]);
  await cancel(db, id);
  expect(await progress(db, id, "end", "w1", 1)).toMatchObject({ cancel_requested: true });
  await complete(db, id);
  expect(await db.value("select progress from jobforge_jobs where id = $1", [id])).toBe("end");
});

test("progress is refused unless the worker holds the job in that attempt", async ({ db }) => {
  const [held, queued, finished] = await enqueueAll(db, [{ priority: 1 }, {}, { priority: 1 }]);
  await claim(db, "w1", { limit: 2 });
  await complete(db, finished);
  const before = await find(db, held);
  for (const [id, worker, attempt] of [
    [held, "w2", null],
    [held, "w1", 2],
    [queued, "w1", null],
    [finished, "w1", null],
    [unknownId, "w1", null],
  ] as const)
    await expectError(progress(db, id, {}, worker, attempt), "JF003");
  await expectError(progress(await boundLogin(db, U, "jobforge_worker"), held, {}), "JF003");
  await expectError(progress(db, held, "x".repeat(70_000)), "JF008", "progress");
  expect(await find(db, held)).toEqual(before);
});
