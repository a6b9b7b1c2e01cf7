/** What a heartbeat says about jobs that may be claimed. */
import type { TestDatabase } from "@jobforge/testing";
import { expect } from "vitest";
import { test } from "../../../test/database.ts";

const T = "11111111-1111-4111-8111-111111111111";

async function ready(db: Pick<TestDatabase, "value">, types: readonly string[] = ["a"]): Promise<unknown> {
  return await db.value(
    "select jobforge_heartbeat_worker('w', jsonb_build_object('types', $1::text[])) -> 'ready'",
    [types],
  );
}

test("a heartbeat says whether a job of the worker's types may be claimed", async ({ db }) => {
  expect(await ready(db)).toBe(false);
  await db.query("select jobforge_enqueue_job($1, 'a')", [T]);
  expect(await ready(db)).toBe(true);
  expect(await ready(db, ["b"])).toBe(false);
  await db.query("select jobforge_claim_jobs('w', 1)");
  expect(await ready(db)).toBe(false);
});

test("a job that waits or whose type is paused is not ready", async ({ db }) => {
  await db.query("select jobforge_enqueue_job($1, 'a', p_run_at => now() + interval '1 hour')", [T]);
  expect(await ready(db)).toBe(false);
  await db.query("select jobforge_enqueue_job($1, 'b')", [T]);
  await db.query("select jobforge_set_gate('type', 'b', true)");
  expect(await ready(db, ["a", "b"])).toBe(false);
});

test("a heartbeat sees that a rate has room again", async ({ db }) => {
  await db.query("select jobforge_set_limit('tenant', '*', p_rate => 1, p_per => '1 minute')");
  await db.query('select jobforge_enqueue_jobs($1, \'[{"type": "a"}, {"type": "a"}]\')', [T]);
  await db.query("select jobforge_claim_jobs('w', 2)");
  expect(await ready(db)).toBe(false);
  await db.travel("1 hour");
  expect(await ready(db)).toBe(true);
});

test("a worker bound to a tenant does not learn whether others have jobs", async ({ db }) => {
  const login = await db.createLogin("jobforge_worker");
  await db.query("select jobforge_bind_role($1, $2)", [login.role, T]);
  const bound = await db.connect(login.url);
  await db.query("select jobforge_enqueue_job('22222222-2222-4222-8222-222222222222', 'a')");
  expect(await ready(bound)).toBe(null);
});
