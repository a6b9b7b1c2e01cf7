/** Jobs that wait, and steps of workflows: each tells about its end, and not about its waits. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claim, deliveries, end, endpoint, enqueue, settle, T, types } from "./support/webhooks.ts";

const url = "https://hooks.example.com/done";

test("a job that waits makes no event before its end, and its children make theirs", async ({ db }) => {
  await endpoint(db, { events: ["job.*"] });
  await enqueue(db, "order", { notify: { url } });
  await end(db, { status: "suspended", wait: { name: "all", children: [{ type: "child" }] } }, "order");
  expect(await types(db)).toEqual([]);
  await end(db, { status: "succeeded" }, "child");
  expect(await types(db)).toEqual(["job.succeeded"]);
  await end(db, { status: "succeeded" }, "order");
  const told = (await deliveries(db)).map(({ event, subject }) => [event.data["type"], subject !== null]);
  expect(told).toHaveLength(3);
  expect(told).toEqual(
    expect.arrayContaining([
      ["child", true],
      ["order", true],
      ["order", false],
    ]),
  );
});

test("a canceled job that waits tells about itself and about its children", async ({ db }) => {
  await endpoint(db);
  const job = await enqueue(db, "order");
  await end(db, { status: "suspended", wait: { name: "all", children: [{ type: "child" }] } }, "order");
  await db.query("select jobforge_cancel_job($1, $2)", [job, T]);
  const told = (await deliveries(db)).map(({ event }) => `${event.type} ${event.data["type"]}`);
  expect(told.sort()).toEqual(["job.canceled child", "job.canceled order"]);
});

test("a wait whose children have a notify fails its run", async ({ db }) => {
  await enqueue(db, "order");
  const run = await claim(db, "order");
  await settle(db, run, {
    status: "suspended",
    wait: { name: "all", children: [{ type: "child", notify: { url } }] },
  });
  expect(await db.value("select error ->> 'name' from jobforge_jobs where id = $1", [run.id])).toBe(
    "InvalidWait",
  );
});

test("the steps of a workflow tell about their ends", async ({ db }) => {
  await endpoint(db);
  await db.query(`select jobforge_start_workflow($1, 'flow', $2)`, [
    T,
    JSON.stringify([
      { name: "a", type: "first" },
      { name: "b", type: "second", needs: ["a"] },
    ]),
  ]);
  await end(db, { status: "succeeded" }, "first");
  await end(db, { status: "failed", retry: false }, "second");
  expect((await deliveries(db)).map(({ event }) => `${event.type} ${event.data["type"]}`)).toEqual([
    "job.succeeded first",
    "job.failed second",
  ]);
});

test("a workflow that is canceled tells about the steps that were jobs", async ({ db }) => {
  await endpoint(db);
  const { id } = await db.value<{ id: string }>("select jobforge_start_workflow($1, 'flow', $2)", [
    T,
    JSON.stringify([
      { name: "a", type: "first" },
      { name: "b", type: "second" },
      { name: "c", type: "third", needs: ["a"] },
    ]),
  ]);
  const run = await claim(db, "first");
  await db.query("select jobforge_cancel_workflow($1, $2)", [id, T]);
  await settle(db, run, { status: "succeeded" });
  const told = (await deliveries(db)).map(({ event }) => `${event.type} ${event.data["type"]}`);
  expect(told.sort()).toEqual(["job.canceled first", "job.canceled second"]);
});
