/** What a claim does for workflows in addition: one failure loses nothing else, and many large tasks take several. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claimIds, complete, type Sql, T } from "../support/kernel.ts";
import { settle, success } from "../support/settle.ts";
import {
  claimSteps,
  drain,
  type Started,
  start,
  statusesOf,
  step,
  workflowOf,
} from "../support/workflows.ts";

const wakeups = async (db: Sql, what: string): Promise<number> =>
  await db.value<number>("select count(*)::int from jobforge.wakeups where what = $1", [what]);

test("a step that cannot be decided keeps no other step from it", async ({ db }) => {
  const flows: Started[] = [];
  for (let n = 0; n < 3; n += 1)
    flows.push(await start(db, [step("a"), step("b"), step("join", ["a", "b"])]));
  const steps = await claimSteps(db);
  const runs = (name: string) => steps.filter(({ path }) => path === name).map(({ id }) => success(id));
  // Both needs of each join end at the same moment, so both leave the decision to a claim.
  const other = await db.connect();
  await other.query("begin");
  await settle(other, runs("a"));
  await settle(db, runs("b"));
  await other.query("commit");
  expect(await wakeups(db, "look")).toBe(3);
  const broken = flows[0]?.steps["join"];
  await db.query(`update jobforge.steps set spec = spec || '{"refs": 5}' where id = $1`, [broken]);
  await db.travel("1 second");
  expect((await claimSteps(db)).map(({ id }) => id).sort()).toEqual(
    flows.slice(1).map((flow) => flow.steps["join"]),
  );
  expect(await wakeups(db, "look")).toBe(1);
  await db.query("update jobforge.steps set spec = spec - 'refs' where id = $1", [broken]);
  await db.travel("2 seconds");
  expect(await claimIds(db)).toEqual([broken]);
  expect(await wakeups(db, "look")).toBe(0);
});

test("a claim makes further items of four maps at most, and the next claims those of the others", async ({
  db,
}) => {
  const over = Array.from({ length: 1001 }, (_, n) => n);
  const flows: Started[] = [];
  for (let n = 0; n < 6; n += 1) flows.push(await start(db, [step("each", [], { map: { over } })]));
  expect(await wakeups(db, "expand")).toBe(6);
  await claimIds(db, "w1", { limit: 1 });
  expect(await wakeups(db, "expand")).toBe(2);
  await claimIds(db, "w1", { limit: 1 });
  expect(await wakeups(db, "expand")).toBe(0);
  expect(await db.value("select count(*)::int from jobforge.queue")).toBe(6 * 1001 - 2);
});

test("a signal reaches a job that an application holds while it waits with a timeout", async ({ db }) => {
  const flow = await start(db, [step("a")]);
  const [job] = await claimSteps(db);
  const until = await db.value<string>("select jobforge.now() + interval '2 days'");
  const wait = { name: "reply", signals: ["go"], until };
  await settle(db, [{ id: job?.id, attempt: 1, status: "suspended", wait }]);
  const application = await db.connect();
  await application.query("begin");
  await application.query("select from jobforge.queue where id = $1 for update", [job?.id]);
  await db.query("select jobforge_send_signal($1, $2, 'go')", [T, job?.id]);
  for (const seconds of [1, 2, 3]) {
    await db.travel(`${seconds} seconds`);
    expect(await claimIds(db)).toEqual([]);
  }
  await application.query("commit");
  await db.travel("10 seconds");
  expect(await claimIds(db)).toEqual([job?.id]);
  await complete(db, job?.id ?? null);
  expect(await statusesOf(db, flow.id)).toEqual({ a: "succeeded" });
});

test("children that end while an application holds their parent resume it afterwards", async ({ db }) => {
  const flow = await start(db, [step("a")]);
  const [parent] = await claimSteps(db);
  const until = await db.value<string>("select jobforge.now() + interval '2 days'");
  const wait = { name: "all", children: [{ type: "child" }], until };
  await settle(db, [{ id: parent?.id, attempt: 1, status: "suspended", wait }]);
  const application = await db.connect();
  await application.query("begin");
  await application.query("select from jobforge.queue where id = $1 for update", [parent?.id]);
  expect(await drain(db)).toEqual(["a/all[0]"]);
  await application.query("commit");
  await db.travel("10 seconds");
  expect(await drain(db)).toEqual(["a"]);
  expect((await workflowOf(db, flow.id)).status).toBe("succeeded");
});
