/** Workflows are forgotten when their retention is over. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { T } from "../support/kernel.ts";
import { drain, start, step } from "../support/workflows.ts";

test("a workflow and its steps are deleted when its retention is over, and one that runs is kept", async ({
  db,
}) => {
  const options = { retention_days: 2, idempotency_key: "k" };
  const old = await start(db, [step("a"), step("each", [], { map: { over: [1, 2] } })], { options });
  await drain(db);
  const live = await start(db, [{ name: "wait", signal: {} }], { options: { retention_days: 2 } });
  await db.query("select jobforge_send_signal($1, $2, 'other')", [T, live.id]);
  await db.travel("1 day");
  await db.query("select jobforge_maintain()");
  expect(await db.value("select count(*)::int from jobforge_workflows")).toBe(2);
  await db.travel("3 days");
  await db.query("select jobforge_maintain()");
  expect(await db.query("select id from jobforge_workflows")).toEqual([{ id: live.id }]);
  expect(await db.value("select count(*)::int from jobforge.steps where workflow_id = $1", [old.id])).toBe(0);
  expect(await db.value("select count(*)::int from jobforge.signals")).toBe(1);
  expect((await start(db, [step("a")], { options })).outcome).toBe("created");
});
