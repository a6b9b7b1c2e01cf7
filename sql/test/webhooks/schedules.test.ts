/** `schedule.failing`: endpoints that ask for it learn once that the runs of a schedule fail. */
import type { TestDatabase } from "@jobforge/testing";
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claim, deliveries, end, endpoint, other, settle, T } from "./support/webhooks.ts";

const event = "schedule.failing";

async function ensure(db: TestDatabase, key = "k", more: object = {}): Promise<void> {
  const options = { every: "1 hour", tags: ["eu"], ...more };
  await db.query("select jobforge_ensure_schedule($1, 'tick', $2, $3)", [T, key, options]);
}

/** Ends one run of the schedule. */
async function run(db: TestDatabase, status: string, key = "k"): Promise<void> {
  await db.query("select jobforge_run_schedule($1, 'tick', $2)", [T, key]);
  await end(db, { status, ...(status === "failed" ? { error: { message: "broken" } } : {}) }, "tick");
}

test("the third failure in a row makes one event, for those who ask for it", async ({ db }) => {
  const curious = await endpoint(db, { events: [event] });
  await endpoint(db);
  await endpoint(db, { events: [event], job_types: ["mail.*"] });
  await endpoint(db, { events: [event], tags: ["us"] });
  await endpoint(db, { events: [event] }, other);
  await ensure(db);
  const told = async () => (await deliveries(db)).filter((each) => each.event.type === event);
  for (let n = 0; n < 2; n += 1) await run(db, "failed");
  expect(await told()).toEqual([]);
  for (let n = 0; n < 3; n += 1) await run(db, "failed");
  const [first, ...rest] = await told();
  expect(rest).toEqual([]);
  expect(first).toMatchObject({
    subject: curious,
    tags: [event],
    event: {
      data: {
        ...{ tenant_id: T, type: "tick", key: "k", enabled: true },
        ...{ consecutive_failures: 3, last_error: "broken" },
        ...{ last_run_at: expect.any(String), next_run_at: expect.any(String) },
      },
    },
  });
  await run(db, "succeeded");
  for (let n = 0; n < 3; n += 1) await run(db, "failed");
  const ids = (await told()).map((each) => each.event.id);
  expect(new Set(ids).size).toBe(2);
});

test("an end that waits for the lock of an application makes it when it is folded in", async ({ db }) => {
  await endpoint(db, { events: [event] });
  await ensure(db);
  for (let n = 0; n < 2; n += 1) await run(db, "failed");
  await db.query("select jobforge_run_schedule($1, 'tick', 'k')", [T]);
  const third = await claim(db, "tick");
  await using application = await db.connect();
  await application.query("begin");
  await application.query("select jobforge_lock_schedule($1, 'tick', 'k')", [T]);
  await settle(db, third, { status: "failed", error: { message: "broken" } });
  expect(await deliveries(db)).toEqual([]);
  await application.query("rollback");
  await db.query("select jobforge_maintain()");
  expect((await deliveries(db)).map((each) => each.event.type)).toEqual([event]);
});

test("a schedule of webhooks tells nothing, and no application sends such an event itself", async ({
  db,
}) => {
  await endpoint(db, { events: ["*"] });
  await db.query("select jobforge_ensure_schedule($1, 'connector.webhook.deliver', 'k', $2)", [
    T,
    { every: "1 hour" },
  ]);
  for (let n = 0; n < 4; n += 1) {
    await db.query("select jobforge_run_schedule($1, 'connector.webhook.deliver', 'k')", [T]);
    await end(db, { status: "failed", error: "broken" }, "connector.webhook.deliver");
  }
  expect((await deliveries(db)).filter((each) => each.event !== null)).toEqual([]);
  await expect(db.query("select jobforge_send_event($1, $2)", [T, { type: event }])).rejects.toMatchObject({
    code: "JF002",
  });
});
