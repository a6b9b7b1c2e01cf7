/** Random calls of all kinds from twenty connections: no deadlock occurs, and every job and run is accounted for. */
import type { TestConnection, TestDatabase } from "@jobforge/testing";
import { expect, onTestFailed } from "vitest";
import { test } from "../../../test/database.ts";
import { largePayload, maintain } from "../support/archive.ts";
import { enqueueJobs } from "../support/bulk.ts";
import { claim, complete, enqueue, enqueueAll, fail, type NewJob, T } from "../support/kernel.ts";
import { startCall } from "../support/pending-call.ts";
import { seedOfRun } from "../support/random.ts";
import { outcomes, settle, success } from "../support/settle.ts";
import { leftovers, storm } from "../support/storm/storm.ts";

/** The duration of the storm. Without it the storm has a fixed number of calls, as in `npm test`. */
const seconds = Number(process.env["JOBFORGE_PROOF_SECONDS"] ?? 0);

const storms: [title: string, limited: boolean][] = [
  ["", false],
  [", with concurrency keys and changing limits,", true],
];

test.for(storms)(
  "twenty clients that make random calls%s cause no deadlock and lose no job or run",
  {
    timeout: seconds * 2000 + 120_000,
  },
  async ([, limited], { db }) => {
    const seed = seedOfRun();
    onTestFailed(() => console.error(`JOBFORGE_PROOF_SEED=${seed} repeats the same choices`));
    const end = Date.now() + seconds * 1000;
    const ledger = await storm(db, {
      clients: 20,
      seed,
      limited,
      going: (done) => (seconds > 0 ? Date.now() < end : done < 80),
    });
    expect(await ledger.audit(db)).toEqual([]);
    expect(await db.value(leftovers)).toEqual({
      "live jobs": 0,
      "children not enqueued": 0,
      "buckets to unpark": 0,
      "requests to cancel": 0,
      deadlocks: 0,
    });
  },
);

/** Returns jobs that replace the live jobs with these keys. */
const replacing = (...keys: string[]): NewJob[] =>
  keys.map((key) => ({ type: "a", dedupe_key: key, dedupe_mode: "replace" }));

/** Opens a transaction that holds new keys: a caller that uses one of them waits until the transaction ends. */
async function holdKeys(db: TestDatabase, ...keys: string[]): Promise<TestConnection> {
  const holder = await db.connect();
  await holder.query("begin");
  await enqueueJobs(holder, replacing(...keys));
  return holder;
}

test("a bulk enqueue that replaces and a reschedule by filter that takes a key again do not deadlock", async ({
  db,
}) => {
  const dead = await enqueue(db, { dedupe_key: "d1", subject: "s", max_attempts: 1 });
  await claim(db);
  await fail(db, dead.id);
  const [held] = await enqueueAll(db, [{ dedupe_key: "d2" }, { dedupe_key: "d3", subject: "s" }]);
  const holder = await db.connect();
  await holder.query("begin");
  await holder.query("select jobforge_update_job($1, $2, '{\"priority\": 1}')", [held, T]);
  // The bulk enqueue has the key d1 and waits for d2. The reschedule has the job with the key d3 and waits for d1.
  const bulk = await startCall(db, (caller) => enqueueJobs(caller, replacing("d1", "d2", "d3")));
  const filter = await startCall(db, (caller) =>
    caller.query("select jobforge_reschedule_jobs($1, $2)", [T, { subject: "s" }]),
  );
  await holder.query("commit");
  expect([await bulk.code, await filter.code]).toEqual(["ok", "ok"]);
});

test("a bulk enqueue that replaces and a transaction that takes the same keys in the same order do not deadlock", async ({
  db,
}) => {
  await enqueue(db, { dedupe_key: "d1" });
  const holder = await holdKeys(db, "d3");
  const bulk = await startCall(db, (caller) => enqueueJobs(caller, replacing("d1", "d2", "d3")));
  const application = await startCall(db, async (caller) => {
    await caller.query("begin");
    for (const job of replacing("d1", "d2")) await enqueue(caller, job);
    await caller.query("commit");
  });
  await holder.query("rollback");
  expect([await bulk.code, await application.code]).toEqual(["ok", "ok"]);
});

test("two bulk enqueues that replace do not deadlock when the job of one of their keys finishes between them", async ({
  db,
}) => {
  const { id } = await enqueue(db, { dedupe_key: "d2" });
  await claim(db);
  await enqueue(db, { dedupe_key: "d1" });
  const [firstHolder, secondHolder] = [await holdKeys(db, "d4"), await holdKeys(db, "d3")];
  const first = await startCall(db, (caller) => enqueueJobs(caller, replacing("d1", "d2", "d4")));
  await complete(db, id);
  const second = await startCall(db, (caller) => enqueueJobs(caller, replacing("d1", "d2", "d3")));
  await firstHolder.query("rollback");
  await first.stuckOrDone();
  await secondHolder.query("rollback");
  expect([await first.code, await second.code]).toEqual(["ok", "ok"]);
});

test("children that cannot be enqueued at the moment are enqueued later, with or without keys", async ({
  db,
}) => {
  const { id } = await enqueue(db);
  await claim(db);
  const other = await db.connect();
  await other.query("begin");
  // As a new index, or a page added to a busy table, does for a moment.
  await other.query("lock table jobforge.payloads in share mode");
  const children = [1, 2].map((n) => ({ type: "child", payload: { n, ...largePayload } }));
  expect(outcomes(await settle(db, [success(id, { children })]))).toEqual(["ok"]);
  await other.query("commit");
  await maintain(db);
  expect(await db.value("select count(*)::int from jobforge_jobs where type = 'child'")).toBe(2);
});

test("every id that a bulk enqueue returns is an existing job, even when its keys belong to different jobs", async ({
  db,
}) => {
  const { id } = await enqueue(db, { dedupe_key: "d1" });
  const answers = await enqueueJobs(db, [
    { type: "a", idempotency_key: "k", dedupe_key: "d1" },
    { type: "a", idempotency_key: "k", dedupe_key: "d0" },
  ]);
  expect(answers).toEqual(Array(2).fill({ id, outcome: "existing" }));
});
