/** jobforge_list_waiting: why jobs do not run, for many of them. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { codeOf, enqueueAll, type Sql, T, U, workerHeartbeat } from "../support/kernel.ts";
import { boundLogin, login } from "../support/tenants.ts";

async function waiting(db: Sql): Promise<string[]> {
  const rows = await db.query<{ row: string }>(
    "select reason || ' ' || type || ' ' || jobs as row from jobforge_list_waiting() where exact order by 1",
  );
  return rows.map(({ row }) => row);
}

test("jobs are counted by the first reason that applies", async ({ db }) => {
  await enqueueAll(db, [
    { type: "a" },
    { type: "a", tenant_id: U },
    { type: "b" },
    { type: "b", in: "1 hour" },
  ]);
  expect(await waiting(db)).toEqual(["no_worker a 2", "no_worker b 1", "scheduled b 1"]);
  await workerHeartbeat(db, "w1", { types: ["a"] });
  expect(await waiting(db)).toEqual(["due a 2", "no_worker b 1", "scheduled b 1"]);
  await db.query("select jobforge_set_gate('tenant', $1, true)", [U]);
  expect(await waiting(db)).toEqual(["due a 1", "no_worker b 1", "paused a 1", "scheduled b 1"]);
  await db.query("select jobforge_set_gate('type', 'b', true)");
  expect(await waiting(db)).toEqual(["due a 1", "paused a 1", "paused b 1", "scheduled b 1"]);
  await db.query("select jobforge_set_gate('all', null, true)");
  expect(await waiting(db)).toEqual(["paused a 2", "paused b 1", "scheduled b 1"]);
});

test("operators and readers see it; tenants, workers and bound roles do not", async ({ db }) => {
  for (const role of ["jobforge_operator", "jobforge_reader"])
    expect(await waiting(await login(db, role))).toEqual([]);
  for (const role of ["jobforge_tenant", "jobforge_worker"])
    expect(await codeOf(waiting(await login(db, role)))).toBe("42501");
  expect(await codeOf(waiting(await boundLogin(db, T, "jobforge_reader")))).toBe("42501");
});
