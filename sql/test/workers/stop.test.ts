/** jobforge_get_worker and jobforge_stop_worker: one worker, and the request that it stops. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { cancel, claim, codeOf, enqueueAll, type Sql, T, U, workerHeartbeat } from "../support/kernel.ts";
import { boundLogin, login } from "../support/tenants.ts";

const isAsked = async (db: Sql, worker: string, instance: string): Promise<unknown> =>
  (await db.value<{ stop: boolean }>("select jobforge_heartbeat_worker($1, $2)", [worker, { instance }]))
    .stop;

const shown = (db: Sql, worker: string): Promise<Record<string, unknown> | null> =>
  db.value("select jobforge_get_worker($1)", [worker]);

const stop = (db: Sql, worker: string): Promise<Record<string, unknown> | null> =>
  db.value("select jobforge_stop_worker($1)", [worker]);

test("a worker is shown with its report and the jobs that it holds", async ({ db }) => {
  const [first] = await enqueueAll(db, [{ subject: "s" }, { tenant_id: U }]);
  await claim(db, "w1", { limit: 2 });
  await cancel(db, first);
  await workerHeartbeat(db, "w1", { types: ["a"], concurrency: 5, host: "h", metrics: { stale: 2 } });
  await workerHeartbeat(db, "w2", {});
  const worker = await shown(db, "w1");
  expect(worker).toMatchObject({
    id: "w1",
    status: "alive",
    concurrency: 5,
    running: 2,
    metrics: { stale: 2 },
  });
  expect(worker?.["held"]).toMatchObject([
    { id: first, tenant_id: T, type: "a", subject: "s", attempt: 1, cancel_requested: true },
    { tenant_id: U, cancel_requested: false },
  ]);
  expect(await shown(db, "w2")).toMatchObject({ held: [], metrics: null, stop_requested_at: null });
  expect(await shown(db, "nobody")).toBeNull();
  const reader = await login(db, "jobforge_reader");
  expect(await shown(reader, "w1")).toMatchObject({ running: 2, held: null });
});

test("a worker that is asked to stop learns it with its next heartbeat, and its next process works", async ({
  db,
}) => {
  expect(await isAsked(db, "w1", "first")).toBe(false);
  await isAsked(db, "w2", "first");
  const operator = await login(db, "jobforge_operator");
  const asked = await stop(operator, "w1");
  expect(asked).toMatchObject({ id: "w1" });
  expect(await isAsked(db, "w1", "first")).toBe(true);
  expect(await isAsked(db, "w2", "first")).toBe(false);
  expect(await shown(db, "w1")).toMatchObject({ stop_requested_by: asked?.["requested_by"] });
  const audited = await db.query("select id::int, action, entity_id from jobforge_audit_log");
  expect(audited).toEqual([{ id: asked?.["audit_id"], action: "WORKER_STOP_REQUESTED", entity_id: "w1" }]);
  expect(await isAsked(db, "w1", "second")).toBe(false);
  expect(await shown(db, "w1")).toMatchObject({ stop_requested_at: null });
  await stop(db, "w1");
  expect(await isAsked(db, "w1", "second")).toBe(true);
  expect(await stop(db, "nobody")).toBeNull();
  await workerHeartbeat(db, "w2", { stopped: true });
  expect(await stop(db, "w2")).toBeNull();
});

test("a heartbeat does not wait for the transaction that asks its worker to stop", async ({ db }) => {
  await workerHeartbeat(db, "w1", { instance: "i" });
  const operator = await db.connect();
  await operator.query("begin");
  await stop(operator, "w1");
  const worker = await db.connect();
  await worker.query("set lock_timeout = '100ms'");
  expect(await isAsked(worker, "w1", "i")).toBe(false);
  await operator.query("commit");
  expect(await isAsked(worker, "w1", "i")).toBe(true);
});

test("requests are forgotten with their worker", async ({ db }) => {
  await workerHeartbeat(db, "w1");
  await stop(db, "w1");
  await db.travel("2 days");
  await db.query("select jobforge_maintain()");
  expect(await db.value("select count(*)::int from jobforge.stop_requests")).toBe(0);
});

test("only operators ask workers to stop; a bound one only those of its tenant", async ({ db }) => {
  await workerHeartbeat(db, "w1");
  const bound = await boundLogin(db, T, "jobforge_worker", "jobforge_operator");
  await workerHeartbeat(bound, "mine");
  expect(await stop(bound, "w1")).toBeNull();
  expect(await shown(bound, "w1")).toBeNull();
  expect(await stop(bound, "mine")).toMatchObject({ id: "mine" });
  expect(await shown(bound, "mine")).toMatchObject({ tenant_id: T });
  for (const role of ["jobforge_reader", "jobforge_tenant", "jobforge_worker"])
    expect(await codeOf(stop(await login(db, role), "w1"))).toBe("42501");
});
