/** Deliveries to an endpoint that an application enqueues itself: they have the keys of the endpoint. */
import type { TestDatabase } from "@jobforge/testing";
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { start } from "../support/workflows.ts";
import {
  type Claimed,
  claimAll,
  deliver,
  end,
  endpoint,
  endpointOf,
  enqueue,
  other,
  settle,
  T,
} from "./support/webhooks.ts";

const event = { type: "invoice.paid", data: {} };
const unreached = { status: "failed", error: { message: "refused", details: { code: "connect_failed" } } };

interface Keys extends Record<string, unknown> {
  readonly subject: string | null;
  readonly concurrency_key: string | null;
}

async function keys(db: TestDatabase, type = deliver): Promise<Keys[]> {
  return await db.query<Keys>(
    "select subject, concurrency_key from jobforge_jobs where type = $1 and finished_at is null order by id",
    [type],
  );
}

async function claimed(db: TestDatabase, count = 10): Promise<Claimed[]> {
  return await claimAll(db, deliver, count);
}

async function enqueueJob(
  db: TestDatabase,
  payload: object,
  more: Record<string, unknown> = {},
): Promise<void> {
  const names = ["tenant_id", "type", "payload", ...Object.keys(more)];
  await db.query(
    `select jobforge_enqueue_job(${names.map((name, index) => `p_${name} => $${index + 1}`).join()})`,
    [T, deliver, JSON.stringify(payload), ...Object.values(more)],
  );
}

async function disable(db: TestDatabase, id: string): Promise<void> {
  await db.query("select jobforge_disable_webhook_endpoint($1, $2)", [T, id]);
}

async function schedule(db: TestDatabase, options: object): Promise<void> {
  await db.query("select jobforge_ensure_schedule($1, $2, 'daily', $3)", [
    T,
    deliver,
    JSON.stringify(options),
  ]);
}

/** The ways to enqueue a job. Each enqueues one delivery with this payload. */
const ways: Readonly<Record<string, (db: TestDatabase, payload: object) => Promise<unknown>>> = {
  jobforge_enqueue_job: (db, payload) => enqueueJob(db, payload),
  "jobforge_enqueue_job with other keys": (db, payload) =>
    enqueueJob(db, payload, {
      subject: "order 7",
      concurrency_key: "mine",
      idempotency_key: "i",
      dedupe_key: "d",
    }),
  jobforge_enqueue_jobs: (db, payload) => enqueue(db, deliver, { payload }),
  "jobforge_enqueue_jobs with other keys": (db, payload) =>
    enqueue(db, deliver, { payload, concurrency_key: "mine", idempotency_key: "i" }),
  jobforge_enqueue_each: (db, payload) =>
    db.query("select jobforge_enqueue_each($1, $2)", [[T], JSON.stringify([{ type: deliver, payload }])]),
  "the end of a job": async (db, payload) => {
    await enqueue(db);
    await end(db, { status: "succeeded", children: [{ type: deliver, payload }] });
  },
  "a schedule": (db, payload) => schedule(db, { dynamic: true, payload, concurrency_key: "mine" }),
  "a step of a workflow": (db, payload) =>
    start(db, [{ name: "tell", type: deliver, payload, concurrency_key: "mine" }]),
  "a replacement": async (db, payload) => {
    const more = { dedupe_key: "d", dedupe_mode: "replace" };
    await enqueueJob(db, { url: "https://example.com/x", event }, more);
    await enqueueJob(db, payload, more);
  },
  "an update": async (db, payload) => {
    const id = await enqueue(db, deliver, { payload: { url: "https://example.com/x", event } });
    await db.query("select jobforge_update_job($1, $2, $3)", [id, T, JSON.stringify({ payload })]);
  },
};

describe.each(Object.entries(ways))("enqueued by %s", (_name, run) => {
  test("a delivery has the keys of its endpoint, and waits while the endpoint is disabled", async ({
    db,
  }) => {
    const id = await endpoint(db, { events: ["invoice.*"] });
    await disable(db, id);
    await run(db, { endpoint_id: id.toUpperCase(), event });
    // A schedule has no job before a worker asks for one.
    expect(await claimed(db)).toEqual([]);
    expect(await keys(db)).toEqual([{ subject: id, concurrency_key: id }]);
    await db.query("select jobforge_enable_webhook_endpoint($1, $2)", [T, id]);
    expect(await claimed(db)).toHaveLength(1);
  });
});

test("a delivery that is updated to another endpoint waits for that one", async ({ db }) => {
  const [first, second] = [await endpoint(db), await endpoint(db, { url: "https://example.com/second" })];
  await disable(db, first);
  const id = await enqueue(db, deliver, { payload: { endpoint_id: first, event } });
  expect(await claimed(db)).toEqual([]);
  const changes = { payload: { endpoint_id: second, event } };
  await db.query("select jobforge_update_job($1, $2, $3)", [id, T, JSON.stringify(changes)]);
  expect(await keys(db)).toEqual([{ subject: second, concurrency_key: second }]);
  expect(await claimed(db)).toEqual([{ id, attempts: 1 }]);
});

test("a schedule that gets another endpoint delivers to that one", async ({ db }) => {
  const [first, second] = [await endpoint(db), await endpoint(db, { url: "https://example.com/second" })];
  await schedule(db, { dynamic: true, payload: { endpoint_id: first, event } });
  await schedule(db, { dynamic: true, payload: { endpoint_id: second, event } });
  expect(await claimed(db)).toHaveLength(1);
  expect(await keys(db)).toEqual([{ subject: second, concurrency_key: second }]);
});

test("no worker gets a delivery to a disabled endpoint by hand-off", async ({ db }) => {
  const id = await endpoint(db);
  await disable(db, id);
  const info = {
    instance: "i1",
    types: [deliver],
    concurrency: 2,
    idle: true,
    hand_off: [deliver],
    held: [],
  };
  await db.query("select jobforge_heartbeat_worker('w1', $1)", [JSON.stringify(info)]);
  const payload = { endpoint_id: id, event };
  await enqueueJob(db, payload, { hand_off: true });
  expect(await db.value("select status from jobforge_jobs")).toBe("queued");
  expect(await keys(db)).toEqual([{ subject: id, concurrency_key: id }]);
});

test("deliveries of the application open the circuit breaker, wait behind it, and are listed", async ({
  db,
}) => {
  const id = await endpoint(db);
  for (let n = 0; n < 6; n += 1) await enqueue(db, deliver, { payload: { endpoint_id: id, event } });
  for (const run of await claimed(db, 5)) await settle(db, run, unreached);
  expect(await endpointOf(db, id)).toMatchObject({ held_until: expect.any(String) });
  expect(await claimed(db)).toEqual([]);
  const list = "select count(*)::int from jobforge_list_webhook_deliveries($1, $2)";
  expect(await db.value(list, [T, id])).toBe(6);
  await db.travel("1 minute");
  const probes = await claimed(db);
  expect(probes).toHaveLength(1);
  for (const probe of probes) await settle(db, probe, { status: "succeeded" });
  expect(await endpointOf(db, id)).toMatchObject({ held_until: null });
  expect(await claimed(db)).toHaveLength(5);
});

test("the endpoint of another tenant holds nothing", async ({ db }) => {
  const foreign = await endpoint(db, {}, other);
  await db.query("select jobforge_disable_webhook_endpoint($1, $2)", [other, foreign]);
  await enqueue(db, deliver, { payload: { endpoint_id: foreign, event } });
  expect(await claimed(db)).toHaveLength(1);
});

test("deliveries to a URL and jobs of other types keep the keys of the call", async ({ db }) => {
  const id = await endpoint(db);
  const mine = { subject: "order 7", concurrency_key: "mine" };
  const payloads = [
    { url: "https://example.com/x", event },
    { endpoint_id: "7", event },
    { endpoint_id: null },
    [id],
  ];
  for (const payload of payloads) await enqueue(db, deliver, { payload, ...mine });
  expect(await keys(db)).toEqual(payloads.map(() => mine));
  await enqueue(db, "mail", { payload: { endpoint_id: id }, ...mine });
  expect(await keys(db, "mail")).toEqual([mine]);
});

test("other jobs pay nothing: the look at the type is part of the statement", async ({ db }) => {
  await db.query("set track_functions = 'all'");
  await enqueue(db);
  await db.query("select jobforge_enqueue_job($1, 'mail', '{}')", [T]);
  await db.query("select pg_stat_force_next_flush()");
  const called = await db.query<{ funcname: string }>(
    `select funcname from pg_stat_user_functions
     where schemaname = 'jobforge' and funcname in ('new_job', 'endpoint_key', 'text_bytes')`,
  );
  expect(called).toEqual([]);
});
