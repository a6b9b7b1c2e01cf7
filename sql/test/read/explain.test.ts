/** Why a job is not running now, or how it finished: each reason, and their order. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { leastCost } from "../support/cost.ts";
import {
  cancel,
  claim,
  claimAndFail,
  complete,
  enqueue,
  enqueueAll,
  enqueueMany,
  expectError,
  fail,
  type Sql,
  setPolicy,
  T,
  travelToRun,
  U,
  unknownId,
  workerHeartbeat,
} from "../support/kernel.ts";
import { setLimit } from "../support/limits.ts";
import { boundLogin } from "../support/tenants.ts";
import { maintain } from "../support/usage.ts";

interface Reason {
  code: string;
  message: string;
  details: Record<string, unknown>;
}

async function explain(db: Sql, id: string, tenant = T): Promise<Reason[]> {
  return await db.value<Reason[]>("select jobforge_explain_job($1, $2)", [id, tenant]);
}

async function codes(db: Sql, id: string): Promise<string[]> {
  return (await explain(db, id)).map((reason) => reason.code);
}

/** Returns the reason with this code; fails if there is none. */
async function reason(db: Sql, id: string, code: string): Promise<Reason> {
  const reasons = await explain(db, id);
  return (
    reasons.find((each) => each.code === code) ?? expect.fail(`no ${code} in ${JSON.stringify(reasons)}`)
  );
}

/** Registers a live worker that handles the types. */
async function alive(db: Sql, ...types: string[]): Promise<void> {
  await workerHeartbeat(db, "alive", { types });
}

test("next: only its turn keeps a job from starting", async ({ db }) => {
  const { id } = await enqueue(db);
  await alive(db, "a");
  expect(await codes(db, id)).toEqual(["next"]);
});

test("scheduled until its time", async ({ db }) => {
  const { id } = await enqueue(db, { in: "1 hour" });
  await alive(db, "a");
  expect(await codes(db, id)).toEqual(["scheduled"]);
  expect((await reason(db, id, "scheduled")).message).toMatch(
    /^Scheduled for \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
  );
  await travelToRun(db, id);
  await alive(db, "a");
  expect(await codes(db, id)).toEqual(["next"]);
});

test("behind the older and the more urgent jobs of its own tenant and type", async ({ db }) => {
  await enqueueAll(db, [{}, { tenant_id: U }, { type: "b" }, {}]);
  const { id } = await enqueue(db, { priority: 1 });
  await enqueueAll(db, [{ priority: 5 }, { priority: 2 }, { priority: 2, tenant_id: U }, { priority: 1 }]);
  await alive(db, "a");
  expect(await reason(db, id, "behind")).toMatchObject({
    message: "Behind 2 of the tenant's jobs of this type",
    details: { ahead: 2, exact: true },
  });
});

test("counting what is ahead stops at a thousand jobs, however many jobs there are", async ({ db }) => {
  await db.query(
    "select jobforge_enqueue_jobs(t, (select jsonb_agg(jsonb_build_object('type', 'a', 'priority', i % 3)) from generate_series(1, 3000) i)) from unnest($1::uuid[]) t",
    [[T, U]],
  );
  const { id } = await enqueue(db);
  expect(await reason(db, id, "behind")).toMatchObject({ details: { ahead: 1000, exact: false } });
  const { buffers } = await leastCost(db, "select jobforge_explain_job($1, $2)", [id, T]);
  expect(buffers).toBeLessThan(1500);
});

test("paused by gates: which gate, by whom, when, why and until when", async ({ db }) => {
  const { id } = await enqueue(db);
  await alive(db, "a");
  await db.query(
    "select jobforge_set_gate('tenant', $1, true, 'unpaid', jobforge.now() + interval '1 hour')",
    [T],
  );
  await db.query("select jobforge_set_gate('type', 'a', true, 'password=x')");
  await db.query("select jobforge_set_gate('type', 'b', true)");
  await db.query("select jobforge_set_gate('all', null, true)");
  expect(await codes(db, id)).toEqual(["paused", "paused", "paused", "next"]);
  const [everything, tenant, type] = await explain(db, id);
  expect(everything?.details).toEqual({
    scope: "all",
    set_by: expect.any(String),
    set_at: expect.any(String),
  });
  expect(tenant).toMatchObject({
    message: expect.stringMatching(/^The tenant was paused by \S+ at \S+Z until \S+Z: unpaid$/),
    details: { scope: "tenant", key: T, reason: "unpaid", until: expect.any(String) },
  });
  await db.query('select jobforge_set_tenant($1, \'{"label": "Acme"}\')', [T]);
  expect((await explain(db, id))[1]?.message).toMatch(/^The tenant Acme was paused by /);
  expect(type?.message).toMatch(/: password=\[redacted\]$/);
  await db.travel("2 hours");
  await alive(db, "a");
  expect(await codes(db, id)).toEqual(["paused", "paused", "next"]);
});

test("no live worker handles the type", async ({ db }) => {
  const { id } = await enqueue(db);
  expect(await reason(db, id, "no_worker")).toMatchObject({
    message: "No live worker handles the type a: none is alive",
    details: { type: "a", workers_alive: 0 },
  });
  await alive(db, "b");
  expect(await reason(db, id, "no_worker")).toMatchObject({ details: { workers_alive: 1 } });
  const other = await boundLogin(db, U, "jobforge_worker");
  await workerHeartbeat(other, "bound", { types: ["a"] });
  expect(await codes(db, id), "another tenant's worker does not help").toEqual(["no_worker", "next"]);
  await workerHeartbeat(db, "any");
  expect(await codes(db, id)).toEqual(["next"]);
  await db.travel("2 minutes");
  expect(await codes(db, id)).toEqual(["no_worker", "next"]);
});

test("retrying after an error, before and after its time", async ({ db }) => {
  const { id } = await enqueue(db);
  await alive(db, "a");
  await claimAndFail(db, { error: { message: "token=abc refused" } });
  expect(await codes(db, id)).toEqual(["retrying"]);
  expect(await reason(db, id, "retrying")).toMatchObject({
    message: expect.stringMatching(
      /^Attempt 1 of 5 failed \(token=\[redacted\] refused\); tried again at \S+Z$/,
    ),
    details: {
      attempts: 1,
      max_attempts: 5,
      error: { message: "token=[redacted] refused" },
      run_at: expect.any(String),
    },
  });
  await travelToRun(db, id);
  await alive(db, "a");
  expect(await codes(db, id)).toEqual(["retrying", "next"]);
  expect((await reason(db, id, "retrying")).message).toMatch(/; due again$/);
});

test("retrying after a lost run", async ({ db }) => {
  const { id } = await enqueue(db);
  await claim(db);
  await db.travel("10 minutes");
  await maintain(db);
  expect((await reason(db, id, "retrying")).message).toMatch(
    /^Attempt 1 of 5 was lost \(Worker w1 sent no heartbeat\)/,
  );
});

test("deferred by its handler", async ({ db }) => {
  const { id } = await enqueue(db);
  await alive(db, "a");
  await claim(db);
  await db.query("select jobforge_defer_job($1, 'w1', jobforge.now() + interval '1 hour')", [id]);
  expect(await codes(db, id)).toEqual(["deferred"]);
});

test("running: who holds the lease since when, and whether cancellation was requested", async ({ db }) => {
  const { id } = await enqueue(db);
  await alive(db, "a");
  await claim(db, "alive");
  expect(await explain(db, id)).toMatchObject([
    { code: "running", details: { worker_id: "alive", attempt: 1, since: expect.any(String) } },
  ]);
  await cancel(db, id);
  expect(await codes(db, id)).toEqual(["cancel_requested", "running"]);
  expect(await reason(db, id, "cancel_requested")).toMatchObject({
    message: expect.stringMatching(/ asked at \S+Z to cancel it; it is canceled when its run ends$/),
    details: { requested_by: expect.any(String), requested_at: expect.any(String) },
  });
});

test("running under a worker that stopped sending heartbeats", async ({ db }) => {
  const { id } = await enqueue(db);
  await alive(db, "a");
  await claim(db, "alive");
  await db.travel("40 seconds");
  expect(await codes(db, id)).toEqual(["running", "worker_silent"]);
  expect(await reason(db, id, "worker_silent")).toMatchObject({
    details: { worker_id: "alive", heartbeats: true },
  });
  await alive(db, "a");
  expect(await codes(db, id)).toEqual(["running"]);
});

test("expired before it started, also before maintenance has canceled it", async ({ db }) => {
  const { id } = await enqueue(db, { expires_in: "1 minute" });
  await db.travel("2 minutes");
  expect((await codes(db, id))[0]).toBe("expired");
  await maintain(db);
  expect(await explain(db, id)).toMatchObject([
    {
      code: "expired",
      message: expect.stringMatching(/^Expired: it had not started at \S+Z$/),
      details: { reason: "expired" },
    },
  ]);
});

test("canceled, with the actor", async ({ db }) => {
  const { id } = await enqueue(db);
  await cancel(db, id);
  const who = await db.value("select session_user::text");
  expect(await explain(db, id)).toMatchObject([
    {
      code: "canceled",
      message: expect.stringMatching(/^Canceled at \S+Z by /),
      details: { canceled_by: who },
    },
  ]);
});

test("dead because its attempts are used up or its workers crashed", async ({ db }) => {
  const exhausted = await enqueue(db, { max_attempts: 1 });
  await claimAndFail(db);
  expect(await explain(db, exhausted.id)).toMatchObject([
    {
      code: "dead",
      message: expect.stringMatching(/^Dead since \S+Z, after its last attempt \(1\): boom$/),
      details: { reason: "exhausted" },
    },
  ]);
  const crashed = await enqueue(db);
  for (let loss = 1; loss <= 3; loss += 1) {
    await claim(db);
    await db.travel(`${10 * loss} minutes`);
    await maintain(db);
  }
  expect(await explain(db, crashed.id)).toMatchObject([
    { code: "dead", details: { reason: "crashed", attempts: 3 } },
  ]);
});

test("failed because its handler refused a retry, and succeeded", async ({ db }) => {
  const [failed, succeeded] = await enqueueAll(db, [{}, {}]);
  await claim(db);
  await fail(db, failed, { retry: false });
  await complete(db, succeeded);
  expect(await explain(db, failed)).toMatchObject([
    {
      code: "failed",
      message: expect.stringMatching(/refused a retry: boom$/),
      details: { reason: "refused" },
    },
  ]);
  expect(await explain(db, succeeded)).toMatchObject([
    { code: "succeeded", message: expect.stringMatching(/^Succeeded at \S+Z in attempt 1$/) },
  ]);
});

test("a failed run of a schedule says that its schedule continues", async ({ db }) => {
  await db.query(`select jobforge_ensure_schedule($1, 'task', 'k', '{"every": "1 hour"}')`, [T]);
  await db.query("select jobforge_run_schedule($1, 'task', 'k')", [T]);
  const [run] = await claim(db);
  await fail(db, run?.id ?? "");
  expect(await explain(db, run?.id ?? "")).toMatchObject([{ code: "failed", details: { reason: "failed" } }]);
});

test("keys that the type's policy lists are masked in explanations, also in errors that were stored before", async ({
  db,
}) => {
  const { id } = await enqueue(db);
  await claimAndFail(db, { error: { message: "iban=DE123", iban: "DE123" } });
  await setPolicy(db, "a", { redact: ["iban"] });
  expect(JSON.stringify(await explain(db, id))).not.toContain("DE123");
});

test("only the tenant and operators may ask, and an unknown job has no explanation", async ({ db }) => {
  const { id } = await enqueue(db);
  await enqueueMany(db, 2, { tenant_id: U });
  expect(await explain(db, unknownId)).toBeNull();
  expect(await explain(db, id, U)).toBeNull();
  const tenant = await boundLogin(db, U, "jobforge_tenant");
  expect(await explain(tenant, id, U)).toBeNull();
  await expectError(explain(tenant, id, T), "42501");
});

test("at a limit, with the jobs that hold the places", async ({ db }) => {
  await setLimit(db, "type", "a", { max: 1 });
  const held = await enqueue(db);
  const { id } = await enqueue(db);
  await claim(db, "w1", { limit: 10 });
  await alive(db, "a");
  expect(await reason(db, id, "at_limit")).toMatchObject({
    message: "At most 1 of the type a run at once",
    details: { scope: "type", max_running: 1, held_by: [{ job_id: held.id, worker_id: "w1" }] },
  });
  await complete(db, held.id);
  expect(await codes(db, id)).toEqual(["next"]);
});

test("behind the first job of its concurrency key, which waits for its retry", async ({ db }) => {
  await setLimit(db, "key", "*", { max: 1 });
  const first = await enqueue(db, { concurrency_key: "k" });
  const { id } = await enqueue(db, { concurrency_key: "k" });
  await claimAndFail(db);
  expect(await reason(db, id, "at_limit")).toMatchObject({
    message: `At most 1 of the concurrency key k run at once, in their order: ${first.id} comes first`,
    details: { scope: "key", first: first.id, held_by: [] },
  });
});

test("limited by a rate until the next token comes", async ({ db }) => {
  await setLimit(db, "tenant", T, { rate: 1, per: "1 hour", burst: 1 });
  await enqueue(db);
  const { id } = await enqueue(db);
  await claim(db, "w1", { limit: 10 });
  const { message, details } = await reason(db, id, "rate_limited");
  expect(message).toMatch(/^1 starts in each 01:00:00 of the tenant are used up; the next is free at /);
  expect(details).toMatchObject({ scope: "tenant", rate: 1, burst: 1, until: expect.any(String) });
});
