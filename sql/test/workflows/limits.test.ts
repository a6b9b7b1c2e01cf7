/** What is too large is refused before anything is written. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claim, enqueue, expectError, type Sql, T } from "../support/kernel.ts";
import { settle } from "../support/settle.ts";
import { type Step, start, step, workflowOf } from "../support/workflows.ts";

/** Returns a sub-workflow that has `levels` levels below it. */
function nested(levels: number): Step {
  return levels === 0 ? step("a") : { name: "g", steps: [nested(levels - 1)] };
}

const many = (count: number): Step[] => Array.from({ length: count }, (_, n) => step(`s${n}`));

test("a graph has up to eight levels, and a step up to 10,000 needs", async ({ db }) => {
  expect((await start(db, [nested(7)])).status).toBe("running");
  const place = `steps${"[0].steps".repeat(8)}`;
  await expectError(start(db, [nested(8)]), "JF014", place);
  const needs = many(10_001).map(({ name }) => name);
  await expectError(start(db, [...many(10_001), step("join", needs)]), "JF014", "steps[10001].needs");
  expect(await db.value("select count(*)::int from jobforge_workflows")).toBe(1);
});

test("a workflow has up to 100,000 steps, with those that are added and the items of maps", async ({
  db,
}) => {
  const flow = await start(db, [{ name: "ok", signal: {} }]);
  await db.query(
    `insert into jobforge.steps (id, workflow_id, tenant_id, kind, path, ord)
     select gen_random_uuid(), $1, $2, 'job', n::text, n from generate_series(1, 99998) n`,
    [flow.id, T],
  );
  await expectError(
    db.query("select jobforge_add_steps($1, $2, $3)", [flow.id, T, JSON.stringify(many(1))]),
    "JF014",
    "steps",
  );
  const list = Array.from({ length: 100_001 }, () => 0);
  const map = await start(db, [step("each", [], { map: { over: { $input: "list" } } })], { input: { list } });
  expect(await workflowOf(db, map.id)).toMatchObject({
    status: "failed",
    failed: [{ step: "each", reason: "too_many_items" }],
  });
});

test("the items of a map count with the other steps of its workflow", async ({ db }) => {
  const list = Array.from({ length: 60_000 }, () => 0);
  const each = { map: { over: { $input: "list" } } };
  const flow = await start(db, [{ name: "ok", signal: {} }, step("each", ["ok"], each)], { input: { list } });
  await db.query(
    `insert into jobforge.steps (id, workflow_id, tenant_id, kind, path, ord)
     select gen_random_uuid(), $1, $2, 'job', n::text, n from generate_series(1, 40000) n`,
    [flow.id, T],
  );
  await db.query("select jobforge_send_signal($1, $2, 'ok')", [T, flow.id]);
  expect(await workflowOf(db, flow.id)).toMatchObject({
    failed: [
      {
        reason: "too_many_items",
        error: {
          message:
            "The map has 60000 items next to 40001 other steps, and a workflow has at most 100000 steps",
        },
      },
    ],
  });
});

test("the checkpoints of a job have up to 64 MiB", async ({ db }) => {
  await enqueue(db);
  const [job] = await claim(db);
  // Without this, the same letter a million times takes a few kilobytes.
  await db.query("alter table jobforge.checkpoints alter column value set storage external");
  const save = async (name: string): Promise<void> => {
    await db.query(
      `select jobforge_save_steps($1, 'w1',
         jsonb_build_array(jsonb_build_object('name', $2::text, 'value', repeat('x', 1000000))))`,
      [job?.id, name],
    );
  };
  for (let n = 0; n < 67; n += 1) await save(`s${n}`);
  await expectError(save("more"), "JF014", "steps");
  expect(await checkpoints(db)).toBe(67);
});

test("a mailbox holds up to 1,000 signals that no step has taken", async ({ db }) => {
  const flow = await start(db, [{ name: "ok", signal: { name: "go" } }]);
  const send = async (count: number, name: string): Promise<void> => {
    await db.query("select jobforge_send_signal($1, $2, $3) from generate_series(1, $4)", [
      T,
      flow.id,
      name,
      count,
    ]);
  };
  await send(1000, "other");
  await expectError(send(1, "go"), "JF014", "target_id");
});

test("a job has up to 10,000 checkpoints, and waits for up to 10,000 children", async ({ db }) => {
  await enqueue(db);
  const [job] = await claim(db);
  const save = async (from: number, count: number): Promise<void> => {
    const steps = Array.from({ length: count }, (_, n) => ({ name: `s${from + n}`, value: 1 }));
    await db.query("select jobforge_save_steps($1, 'w1', $2)", [job?.id, JSON.stringify(steps)]);
  };
  for (let from = 0; from < 10_000; from += 1000) await save(from, 1000);
  await expectError(save(10_000, 1), "JF014", "steps");
  await expectError(save(0, 1001), "JF002", "steps");
  expect(await checkpoints(db)).toBe(10_000);
  const children = Array.from({ length: 10_001 }, () => ({ type: "child" }));
  await settle(db, [{ id: job?.id, attempt: 1, status: "suspended", wait: { name: "all", children } }]);
  expect(await db.query("select type, last_error from jobforge_jobs")).toEqual([
    { type: "a", last_error: expect.stringContaining("more than 10000 children of one wait") },
  ]);
});

const checkpoints = async (db: Sql): Promise<number> =>
  await db.value("select count(*)::int from jobforge_checkpoints");
