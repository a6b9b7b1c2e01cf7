/** jobforge_defer_job: a run ends and its job waits until a later time. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  attemptsOf,
  cancel,
  claim,
  complete,
  enqueue,
  enqueueAll,
  expectError,
  fail,
  find,
  type Sql,
  travelToRun,
  U,
  unknownId,
} from "../support/kernel.ts";
import { boundLogin } from "../support/tenants.ts";

interface Deferral {
  worker?: string;
  run_at?: string | Date | null;
  attempt?: number | null;
  counts?: boolean;
}

async function defer(db: Sql, id: string, how: Deferral = {}): Promise<unknown> {
  const { worker = "w1", run_at = "2999-01-01T00:00:00Z", attempt = null, counts = true } = how;
  return await db.value("select jobforge_defer_job($1, $2, $3, $4, $5)", [
    id,
    worker,
    run_at,
    attempt,
    counts,
  ]);
}

test("a deferred job leaves its worker until the given time, and the run counts as an attempt", async ({
  db,
}) => {
  const { id } = await enqueue(db, { max_attempts: 2 });
  await claim(db);
  const run_at = new Date(Date.now() + 3_600_000);
  expect(await defer(db, id, { run_at })).toMatchObject({ id, status: "queued" });
  expect(await find(db, id)).toMatchObject({ status: "queued", locked_by: null, run_at, last_error: null });
  await db.travel("59 minutes");
  expect(await claim(db)).toEqual([]);
  await travelToRun(db, id);
  expect(await claim(db)).toMatchObject([{ id, attempts: 2 }]);
  expect(await defer(db, id)).toMatchObject({ status: "dead" });
  expect((await attemptsOf(db, id)).map((run) => run.status)).toEqual(["deferred", "deferred"]);
});

test("a deferral that does not count may be repeated without limit", async ({ db }) => {
  const { id } = await enqueue(db, { max_attempts: 1 });
  for (let attempt = 1; attempt <= 5; attempt += 1) {
    expect(await claim(db)).toMatchObject([{ id, attempts: attempt }]);
    expect(await defer(db, id, { run_at: new Date(), counts: false })).toMatchObject({ status: "queued" });
  }
  await claim(db);
  expect(await fail(db, id)).toMatchObject({ status: "dead" });
});

test("a run with a cancel request is canceled when it defers", async ({ db }) => {
  const { id } = await enqueue(db);
  await claim(db);
  await cancel(db, id);
  expect(await defer(db, id, { counts: false })).toMatchObject({ status: "canceled" });
});

test("a defer is refused unless the worker holds the job in that attempt", async ({ db }) => {
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
    await expectError(defer(db, id, { worker, attempt }), "JF003");
  await expectError(defer(await boundLogin(db, U, "jobforge_worker"), held), "JF003");
  for (const run_at of [null, "infinity", "20000-01-01 UTC"])
    await expectError(defer(db, held, { run_at }), "JF002", "run_at");
  expect(await find(db, held)).toEqual(before);
});
