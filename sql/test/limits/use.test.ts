/** How much of each limit is used, as jobforge_list_limits says it. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claim, enqueueAll, type Sql, T, U } from "../support/kernel.ts";
import { setLimit } from "../support/limits.ts";
import { boundLogin } from "../support/tenants.ts";

type Use = {
  key: string;
  running: number | null;
  waiting: number | null;
  tokens: number | null;
  next_at: Date | null;
  exact: boolean | null;
};

async function use(db: Sql): Promise<Use[]> {
  return await db.query<Use>(
    "select key, running, waiting, tokens, next_at, exact from jobforge_list_limits() order by key",
  );
}

const four = Array.from({ length: 4 }, () => ({ type: "a" }));

test("a limit of a type: running jobs, and due ones while it is full", async ({ db }) => {
  await setLimit(db, "type", "a", { max: 3 });
  await enqueueAll(db, four);
  expect(await use(db)).toMatchObject([{ running: 0, waiting: 0, tokens: null, exact: true }]);
  await claim(db, "w", { limit: 2 });
  expect(await use(db)).toMatchObject([{ running: 2, waiting: 0 }]);
  await claim(db, "w", { limit: 2 });
  expect(await use(db)).toMatchObject([{ running: 3, waiting: 1 }]);
  // Running jobs continue when the limit is lowered.
  await setLimit(db, "type", "a", { max: 1 });
  expect(await use(db)).toMatchObject([{ running: 3, waiting: 1 }]);
});

test("a limit of a tenant: parked jobs", async ({ db }) => {
  await setLimit(db, "tenant", T, { max: 1 });
  await setLimit(db, "type_tenant", `a:${U}`, { max: 1 });
  await enqueueAll(db, [...four, ...four.map((job) => ({ ...job, tenant_id: U }))]);
  await claim(db, "w", { limit: 10 });
  expect(await use(db)).toMatchObject([
    { key: T, running: 1, waiting: 3, exact: true },
    { key: `a:${U}`, running: 1, waiting: 3, exact: true },
  ]);
});

test("a rate: tokens that are left, and when the next one comes", async ({ db }) => {
  await setLimit(db, "type", "a", { rate: 2, per: "1 hour" });
  await enqueueAll(db, four);
  expect(await use(db)).toMatchObject([{ running: null, waiting: 0, tokens: 2, next_at: null }]);
  await claim(db, "w", { limit: 4 });
  expect(await use(db)).toMatchObject([{ tokens: 0, waiting: 2, next_at: expect.any(Date) }]);
});

test("defaults and limits without numbers have no use, keys have running jobs", async ({ db }) => {
  for (const [scope, key] of [
    ["type", "*"],
    ["type_tenant", "a:*"],
    ["key", "*"],
  ] as const)
    await setLimit(db, scope, key, { max: 5 });
  await setLimit(db, "tenant", T, {});
  for (const row of await use(db)) expect(row).toMatchObject({ running: null, waiting: null, tokens: null });
  await setLimit(db, "key", "k", { max: 2 });
  await db.query("select jobforge_enqueue_job($1, 'a', p_concurrency_key => 'k')", [T]);
  await claim(db, "w");
  expect((await use(db)).find(({ key }) => key === "k")).toMatchObject({ running: 1, waiting: null });
});

test("waiting jobs are counted up to a bound", async ({ db }) => {
  await setLimit(db, "type", "a", { max: 0 });
  await db.query(
    'select jobforge_enqueue_jobs($1, (select jsonb_agg(\'{"type": "a"}\'::jsonb) from generate_series(1, 1001)))',
    [T],
  );
  expect(await use(db)).toMatchObject([{ waiting: 1000, exact: false }]);
});

test("a role that is bound to a tenant sees the use of its own limits only", async ({ db }) => {
  await setLimit(db, "type", "a", { max: 1 });
  await setLimit(db, "tenant", T, { max: 1 });
  await setLimit(db, "tenant", U, { max: 1 });
  await enqueueAll(db, [{ type: "a", tenant_id: U }]);
  await claim(db, "w");
  const bound = await boundLogin(db, T, "jobforge_reader");
  expect(await use(bound)).toMatchObject([
    { key: T, running: 0 },
    { key: "a", running: null, waiting: null },
  ]);
});
