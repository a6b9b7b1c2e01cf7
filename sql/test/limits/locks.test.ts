/** Limits make no transaction wait, wake idle workers, and hide no job for longer than a hint lasts. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { load, tenant } from "../support/cost.ts";
import {
  claim,
  claimIds,
  complete,
  enqueue,
  enqueueAll,
  impatient,
  type NewJob,
  T,
  workerHeartbeat,
} from "../support/kernel.ts";
import { removeLimit, type Scope, setLimit, statesOf } from "../support/limits.ts";
import { listen } from "../support/listen.ts";
import { startCall } from "../support/pending-call.ts";
import { idsOf, settle, success } from "../support/settle.ts";

const k = (job: NewJob = {}): NewJob => ({ concurrency_key: "k", ...job });

const scopes: [scope: Scope, key: string][] = [
  ["type", "a"],
  ["tenant", T],
  ["type_tenant", `a:${T}`],
  ["key", "k"],
];

test.for(scopes)(
  "an end in an application's open transaction delays only jobs in the same bucket of a limit by %s",
  async ([scope, key], { db }) => {
    await setLimit(db, scope, key, { max: 1 });
    const [running, next] = await enqueueAll(db, [k(), k()]);
    const other = await enqueue(db, { type: "b", tenant_id: tenant(1) });
    expect(await claimIds(db, "w1", { limit: 1 })).toEqual([running]);
    const application = await db.connect();
    await application.query("begin");
    await complete(application, running);
    const worker = await impatient(db);
    expect(await claimIds(worker, "w2")).toEqual([other.id]);
    const poll = await settle(worker, [], { claim: 10 });
    expect(poll.claim_error).toBeUndefined();
    expect(poll.jobs).toEqual([]);
    await application.query("commit");
    await worker.travel("1 second");
    expect(await claimIds(worker, "w2")).toEqual([next]);
  },
);

test.for(scopes)(
  "an operator's open transaction that sets a limit by %s makes no worker wait",
  async ([scope, key], { db }) => {
    await setLimit(db, scope, key, { max: 1 });
    const [running, next] = await enqueueAll(db, [k(), k()]);
    const operator = await db.connect();
    await operator.query("begin");
    await setLimit(operator, scope, key, { max: 2 });
    await removeLimit(operator, scope, key);
    const worker = await impatient(db);
    expect(await claimIds(worker)).toEqual([running]);
    await workerHeartbeat(worker, "w1");
    await complete(worker, running);
    expect(await claimIds(worker)).toEqual([next]);
    await operator.query("rollback");
  },
);

test.for(scopes)(
  "a slot of a limit by %s that becomes free wakes idle workers",
  async ([scope, key], { db }) => {
    await setLimit(db, scope, key, { max: 1 });
    const [running, next] = await enqueueAll(db, [k(), k()]);
    await claim(db);
    expect(await claimIds(db, "w2")).toEqual([]);
    await workerHeartbeat(db, "w2", { types: ["a"], idle: true });
    const listener = await listen(db);
    await settle(db, [success(running)]);
    expect(await listener.heard()).toContain("jobforge_wake: a");
    expect(await claimIds(db, "w2")).toEqual([next]);
  },
);

test("a changed limit wakes idle workers", async ({ db }) => {
  await setLimit(db, "tenant", T, { max: 0 });
  await workerHeartbeat(db, "w2", { types: ["a"], idle: true });
  const listener = await listen(db);
  await setLimit(db, "tenant", T, { max: 1 });
  await removeLimit(db, "tenant", T);
  expect(await listener.heard()).toEqual(["jobforge_wake: a", "jobforge_wake: a"]);
});

test("a claim that finds a bucket locked asks the worker to try again soon", async ({ db }) => {
  await setLimit(db, "key", "*", { max: 2 });
  const [first] = await enqueueAll(db, [k(), k()]);
  const other = await db.connect();
  await other.query("begin");
  expect(await claimIds(other, "w2", { limit: 1 })).toEqual([first]);
  const { jobs, next_due_at } = await settle(db, [], { claim: 10 });
  expect(jobs).toEqual([]);
  expect(next_due_at).not.toBeNull();
  expect(await statesOf(db)).toEqual({ ready: 2 });
  await other.query("rollback");
  expect(await claimIds(db)).toHaveLength(2);
});

test("another worker's hint does not hide an unparked job for more than a second", async ({ db }) => {
  await setLimit(db, "key", "k", { max: 1 });
  const [running, next] = await enqueueAll(db, [k({ in: "-1 hour" }), k({ in: "-1 hour" })]);
  await claim(db);
  await load(db, { count: 500, due: "-1 minute" });
  await claim(db, "w3", { limit: 1 });
  const other = await settle(db, [], { worker: "w2", claim: 5, types: ["a"] });
  expect(other.jobs).toHaveLength(5);
  await settle(db, [success(running)]);
  await db.travel("1100 milliseconds");
  const later = await settle(db, [], { worker: "w2", claim: 5, types: ["a"], hint: other.hint });
  expect(idsOf(later)).toContain(next);
});

test("the worker that makes room gets the unparked job in the same call", async ({ db }) => {
  await setLimit(db, "key", "k", { max: 1 });
  const [running, next] = await enqueueAll(db, [k(), k()]);
  const first = await settle(db, [], { claim: 5 });
  expect(idsOf(first)).toEqual([running]);
  const second = await settle(db, [success(running)], { claim: 5, hint: first.hint });
  expect(idsOf(second)).toEqual([next]);
});

test("thousands of jobs without room are parked in a few calls, each of which asks the worker to try again", async ({
  db,
}) => {
  await setLimit(db, "tenant", tenant(1), { max: 1 });
  await load(db, { count: 6000 });
  let calls = 0;
  let hint: unknown = null;
  for (;;) {
    const answer = await settle(db, [], { claim: 10, types: ["a"], hint });
    expect(answer.claim_error).toBeUndefined();
    hint = answer.hint;
    calls += 1;
    if (answer.next_due_at === null) break;
    expect(calls).toBeLessThan(10);
  }
  expect(await statesOf(db)).toEqual({ running: 1, parked: 5999 });
});

test("a rate that is set while a claim decides makes it wait for no other claim", async ({ db }) => {
  await setLimit(db, "key", "k", { rate: 1, per: "1 minute" });
  const [first] = await enqueueAll(db, [k(), k()]);
  const other = await enqueue(db, { type: "b" });
  // The claim parks the second job before it takes the token of the first. The trigger holds it there.
  await db.query(`
    create function public.hold() returns trigger language plpgsql as $$
    begin perform pg_advisory_xact_lock_shared(1); return new; end $$;
    create trigger hold before update on jobforge.queue for each row execute function public.hold()`);
  const holder = await db.connect();
  await holder.query("select pg_advisory_lock(1)");
  const deciding = await startCall(db, async (worker) => {
    await worker.query("set lock_timeout = '10s'");
    expect(await claimIds(worker, "w1", { types: ["a"] })).toEqual([first]);
  });
  await setLimit(db, "tenant", "*", { rate: 10, per: "1 minute" });
  const open = await db.connect();
  await open.query("begin");
  expect(await claimIds(open, "w2", { types: ["b"] })).toEqual([other.id]);
  await holder.query("select pg_advisory_unlock(1)");
  expect(await deciding.code).toBe("ok");
});
