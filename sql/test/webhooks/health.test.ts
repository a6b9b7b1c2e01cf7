/** The health of endpoints: circuit breaker, disabling, order, replay. */
import type { TestDatabase } from "@jobforge/testing";
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  type Claimed,
  claimAll,
  deliver,
  deliveries,
  end,
  endpoint,
  endpointOf,
  enqueue,
  other,
  settle,
  T,
  types,
} from "./support/webhooks.ts";

const unreached = { status: "failed", error: { message: "refused", details: { code: "connect_failed" } } };
const refused = {
  status: "failed",
  error: { message: "500", details: { code: "http_status", status: 500 } },
};
const gone = {
  status: "failed",
  retry: false,
  error: { message: "410", details: { code: "http_status", status: 410 } },
};

async function send(db: TestDatabase, count = 1): Promise<void> {
  for (let i = 0; i < count; i++)
    await db.query("select jobforge_send_event($1, $2)", [T, { type: "a.b", data: { i } }]);
}

async function claimed(db: TestDatabase, count = 100): Promise<Claimed[]> {
  return await claimAll(db, deliver, count);
}

async function audit(db: TestDatabase): Promise<string[]> {
  const rows = await db.query<{ action: string }>("select action from jobforge.audit_log order by id");
  return rows.map(({ action }) => action);
}

describe("the circuit breaker", () => {
  test("opens after five deliveries that reached no server, tries one, and closes with a success", async ({
    db,
  }) => {
    const id = await endpoint(db, { events: ["*"] });
    const healthy = await endpoint(db, { events: ["a.c"] });
    await send(db, 8);
    const runs = await claimed(db, 5);
    for (const run of runs) await settle(db, run, unreached);
    expect(await endpointOf(db, id)).toMatchObject({ held_until: expect.any(String) });
    expect(await claimed(db)).toHaveLength(0);
    await db.query("select jobforge_send_event($1, $2)", [T, { type: "a.c" }]);
    const others = await claimed(db);
    expect(others).toHaveLength(1);
    expect(await endpointOf(db, healthy)).toMatchObject({ held_until: null });
    await db.travel("1 minute");
    const [probe, ...rest] = await claimed(db);
    expect(rest).toEqual([]);
    if (probe === undefined) return expect.fail("No delivery was tried.");
    await settle(db, probe, unreached);
    // It is held twice as long now.
    await db.travel("90 seconds");
    expect(await claimed(db)).toHaveLength(0);
    await db.travel("4 minutes");
    const [second] = await claimed(db);
    if (second === undefined) return expect.fail("No delivery was tried.");
    await settle(db, second, { status: "succeeded" });
    expect((await claimed(db)).length).toBeGreaterThan(1);
    expect(await endpointOf(db, id)).toMatchObject({ held_until: null, failing_since: null });
  });

  test("opens when most of ten deliveries fail, and not for a few among many", async ({ db }) => {
    const id = await endpoint(db, { events: ["*"] });
    await send(db, 20);
    const runs = await claimed(db, 20);
    for (const [i, run] of runs.slice(0, 10).entries())
      await settle(db, run, i % 2 === 0 ? refused : { status: "succeeded" });
    expect(await endpointOf(db, id)).toMatchObject({ held_until: null });
    for (const run of runs.slice(10)) await settle(db, run, refused);
    expect(await endpointOf(db, id)).toMatchObject({ held_until: expect.any(String), state: "enabled" });
  });
});

describe("an endpoint is disabled", () => {
  test("when its receiver is gone: its deliveries wait, others are notified, the audit says so", async ({
    db,
  }) => {
    const id = await endpoint(db, { events: ["a.*"] });
    const witness = await endpoint(db, { events: ["webhook.*"] });
    const foreign = await endpoint(db, { events: ["*"] }, other);
    await send(db, 2);
    const [first] = await claimed(db, 1);
    if (first === undefined) return expect.fail("No delivery.");
    await settle(db, first, gone);
    expect(await endpointOf(db, id)).toMatchObject({
      state: "disabled",
      reason: "The receiver responded with status 410.",
    });
    expect(await audit(db)).toContain("WEBHOOK_ENDPOINT_DISABLED");
    const told = (await deliveries(db)).filter(({ event }) => event.type === "webhook.endpoint_disabled");
    expect(told).toMatchObject([{ subject: witness, event: { data: { endpoint_id: id } } }]);
    expect(told.map(({ subject }) => subject)).not.toContain(foreign);
    // The witness is notified; the others wait, also a new one.
    await send(db);
    expect(await claimed(db)).toHaveLength(1);
    await db.query("select jobforge_enable_webhook_endpoint($1, $2)", [T, id]);
    expect(await claimed(db)).toHaveLength(2);
    expect(await audit(db)).toContain("WEBHOOK_ENDPOINT_ENABLED");
  });

  test("when every delivery has failed for five days, and not because one message is dead", async ({
    db,
  }) => {
    const id = await endpoint(db, { events: ["*"] });
    await send(db);
    const fail = async (): Promise<void> => {
      for (const run of await claimed(db, 1)) await settle(db, run, { ...refused, retry: false });
    };
    await fail();
    expect(await endpointOf(db, id)).toMatchObject({ state: "enabled", failing_since: expect.any(String) });
    for (const step of ["1 day", "3 days", "121 hours"]) {
      await db.travel(step);
      await send(db);
      await fail();
    }
    expect(await endpointOf(db, id)).toMatchObject({
      state: "disabled",
      reason: "Every delivery has failed for five days.",
    });
  });
});

test("an ordered endpoint delivers one by one, in the order of the events, without limits", async ({
  db,
}) => {
  const id = await endpoint(db, { events: ["*"], ordered: true });
  await send(db, 3);
  const seen: unknown[] = [];
  for (let i = 0; i < 3; i++) {
    const runs = await claimed(db);
    expect(runs).toHaveLength(1);
    const [run] = runs;
    if (run === undefined) return expect.fail("No delivery.");
    seen.push(
      await db.value("select payload #> '{event,data,i}' from jobforge_jobs where id = $1", [run.id]),
    );
    if (i === 0) {
      // A delivery that is retried holds up the others.
      await settle(db, run, refused);
      expect(await claimed(db)).toHaveLength(0);
      await db.travel("1 minute");
      const [again] = await claimed(db);
      expect(again?.id).toBe(run.id);
      if (again !== undefined) await settle(db, again, { status: "succeeded" });
    } else await settle(db, run, { status: "succeeded" });
  }
  expect(seen).toEqual([0, 1, 2]);
  expect(await db.value("select count(*)::int from jobforge.limits")).toBe(0);
  await db.query("select jobforge_set_webhook_endpoint($1, $2, $3)", [T, { ordered: false }, id]);
  await send(db, 3);
  expect(await claimed(db)).toHaveLength(3);
});

test("a replay delivers the same events again, with the same ids", async ({ db }) => {
  const id = await endpoint(db);
  for (let i = 0; i < 3; i++) {
    await enqueue(db);
    await end(db, { status: "succeeded" });
  }
  const [one, two] = await claimed(db);
  if (one === undefined || two === undefined) return expect.fail("No deliveries.");
  await settle(db, one, { status: "succeeded" });
  await settle(db, two, { ...refused, retry: false });
  const before = new Set((await deliveries(db)).map(({ event }) => event.id));
  expect(await db.value("select jobforge_replay_webhook_deliveries($1, $2)", [T, id])).toEqual({
    matched: 1,
    replayed: 1,
  });
  expect(
    await db.value('select jobforge_replay_webhook_deliveries($1, $2, \'{"status": "succeeded"}\')', [T, id]),
  ).toEqual({ matched: 1, replayed: 1 });
  const after = await deliveries(db);
  expect(after).toHaveLength(4);
  expect(new Set(after.map(({ event }) => event.id))).toEqual(before);
  expect(await audit(db)).toContain("WEBHOOKS_REPLAYED");
});

test("deleting an endpoint cancels its deliveries, and nothing is delivered to it again", async ({ db }) => {
  const id = await endpoint(db, { events: ["*"], ordered: true });
  await send(db, 3);
  expect(await db.value("select jobforge_delete_webhook_endpoint($1, $2)", [T, id])).toMatchObject({
    canceled: 3,
  });
  await send(db);
  expect(await types(db)).toEqual(["a.b", "a.b", "a.b"]);
  expect(await claimed(db)).toHaveLength(0);
  expect(await db.value("select count(*)::int from jobforge.key_holds")).toBe(0);
});
