/** Live counts: exact while there are few jobs, marked estimates when there are many, at a bounded cost. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { leastCost } from "../support/cost.ts";
import { claim, enqueue, enqueueAll, expectError, type Sql, T, U } from "../support/kernel.ts";
import { boundLogin, login } from "../support/tenants.ts";

type Count = {
  tenant_id: string | null;
  type: string | null;
  queued: number;
  scheduled: number;
  running: number;
  oldest_run_at: Date | null;
  oldest_ms: number | null;
  exact: boolean;
};

async function counts(db: Sql, args: Record<string, unknown> = {}): Promise<Count[]> {
  const names = Object.keys(args).map((name, index) => `${name} => $${index + 1}`);
  return await db.query<Count>(
    `select tenant_id, type, queued::int, scheduled::int, running::int, oldest_run_at, oldest_ms::int, exact
     from jobforge_count_live(${names.join(", ")})`,
    Object.values(args),
  );
}

/** Writes queued jobs of tenant T directly into the table, spread over several types. */
async function fill(db: Sql, jobs: number, types: number): Promise<void> {
  await db.query(
    `insert into jobforge.queue (id, tenant_id, lane, type, state, max_attempts, budget, run_at, created_at, updated_at, payload)
     select jobforge.new_id(), $1, uuid_hash_extended($1, 0), 'many' || i % $3, 'ready', 5, 5, now(), now(), now(), '{}'
     from generate_series(1, $2::integer) i`,
    [T, jobs, types],
  );
}

test("few jobs are counted by status, type and tenant, with the age of the oldest", async ({ db }) => {
  await enqueueAll(db, [
    { in: "-5 minutes" },
    {},
    { in: "1 hour" },
    { type: "b" },
    { tenant_id: U },
    { type: "c", in: "2 hours" },
  ]);
  await claim(db, "w1", { types: ["b"] });
  expect(await counts(db)).toMatchObject([
    { tenant_id: null, type: "a", queued: 3, scheduled: 1, running: 0, exact: true },
    { type: "b", queued: 0, scheduled: 0, running: 1, oldest_run_at: null, oldest_ms: null, exact: true },
    { type: "c", queued: 0, scheduled: 1, running: 0, oldest_ms: null, exact: true },
  ]);
  expect(await counts(db, { p_by: ["tenant", "type"], p_tenant_id: U })).toMatchObject([
    { tenant_id: U, type: "a", queued: 1, running: 0 },
  ]);
  const [all] = await counts(db, { p_by: [] });
  expect(all).toMatchObject({ tenant_id: null, type: null, queued: 3, scheduled: 2, running: 1 });
  expect(all?.oldest_ms).toBeGreaterThanOrEqual(300_000);
  expect(all?.oldest_ms).toBeLessThan(600_000);
  expect(await counts(db, { p_by: ["tenant"] })).toMatchObject([
    { tenant_id: T, queued: 2, scheduled: 2, running: 1 },
    { tenant_id: U, queued: 1, scheduled: 0, running: 0 },
  ]);
  // A due job counts as queued, also before a claim has promoted it.
  await db.travel("90 minutes");
  expect(await counts(db, { p_by: [] })).toMatchObject([{ queued: 4, scheduled: 1 }]);
});

test("above the cap a small table is still counted, because that costs little", async ({ db }) => {
  await fill(db, 500, 1);
  expect(await counts(db, { p_cap: 10 })).toMatchObject([{ type: "many0", queued: 500, exact: true }]);
  expect(await counts(db, { p_cap: 10, p_tenant_id: T })).toMatchObject([{ queued: 500, exact: true }]);
});

test("many jobs are estimated and marked as estimates, small types are counted, and the cost is bounded", async ({
  db,
}) => {
  await fill(db, 120_000, 2);
  await enqueueAll(db, [{ type: "small" }, { type: "small", in: "1 hour" }, { type: "late", in: "1 hour" }]);
  await enqueue(db, { type: "busy", tenant_id: U });
  await claim(db, "w1", { types: ["busy"] });
  const rows = await counts(db);
  for (const type of ["many0", "many1"]) {
    const row = rows.find((each) => each.type === type);
    expect(row).toMatchObject({ exact: false, scheduled: 0 });
    expect(row?.queued).toBeGreaterThan(40_000);
    expect(row?.queued).toBeLessThan(80_000);
    expect(row?.oldest_ms).toBeGreaterThanOrEqual(0);
  }
  expect(rows).toContainEqual(
    expect.objectContaining({ type: "small", queued: 1, scheduled: 1, exact: true }),
  );
  expect(rows).toContainEqual(
    expect.objectContaining({ type: "late", queued: 0, scheduled: 1, exact: true }),
  );
  const [tenant] = await counts(db, { p_tenant_id: T, p_by: [] });
  expect(tenant?.exact).toBe(false);
  expect(Math.abs((tenant?.queued ?? 0) - 120_000)).toBeLessThan(40_000);
  expect(await counts(db, { p_tenant_id: U })).toMatchObject([{ type: "busy", running: 1, exact: true }]);
  const size = await db.value<number>("select (pg_relation_size('jobforge.queue') / 8192)::int");
  expect(size).toBeGreaterThan(2500);
  const cost = async (): Promise<number[]> => {
    const buffers: number[] = [];
    for (const call of looks) buffers.push((await leastCost(db, `select * from ${call}`)).buffers);
    return buffers;
  };
  await db.query("select jobforge_set_gate('type', 'late', true)");
  const few = await cost();
  await fill(db, 120_000, 2);
  const expectBounded = async (): Promise<void> => {
    for (const [index, many] of (await cost()).entries())
      expect([looks[index], many]).toEqual([
        looks[index],
        expect.toSatisfy((n) => n < 1.5 * (few[index] ?? 0)),
      ]);
  };
  await expectBounded();
  // With statistics, but before a vacuum.
  await db.query("analyze jobforge.queue");
  await expectBounded();
});

/** All functions that show live jobs. */
const looks = [
  "jobforge_count_live(p_cap => 100)",
  "jobforge_stats()",
  "jobforge_list_gates()",
  "jobforge_metrics()",
  "jobforge_list_types()",
];

test("running jobs are never estimated, and an estimate does not change while the jobs do not", async ({
  db,
}) => {
  await fill(db, 120_000, 2);
  await enqueueAll(db, [{ type: "busy" }, { type: "busy", tenant_id: U }]);
  await claim(db, "w1", { types: ["busy"] });
  await db.query("select count(*) from jobforge_claim_jobs('w1', 37, array['many0'])");
  const rows = await counts(db);
  expect(rows).toContainEqual(expect.objectContaining({ type: "many0", running: 37, exact: false }));
  expect(rows).toContainEqual(expect.objectContaining({ type: "busy", running: 2, exact: true }));
  expect(await counts(db)).toMatchObject(rows.map(({ type, queued }) => ({ type, queued })));
  expect(await counts(db, { p_by: ["tenant", "type"] })).toMatchObject([
    { tenant_id: T, type: "busy", running: 1 },
    { tenant_id: T, type: "many0", running: 37 },
    { tenant_id: T, type: "many1", running: 0 },
    { tenant_id: U, type: "busy", running: 1 },
  ]);
  expect(await counts(db, { p_tenant_id: T, p_by: [] })).toMatchObject([{ running: 38, exact: false }]);
  expect(await db.value("select jobforge_stats() -> 'totals' -> 'running'")).toBe(39);
  expect(await db.query("select type, running, exact from jobforge_list_types() where running > 0")).toEqual([
    { type: "busy", running: 2, exact: true },
    { type: "many0", running: 37, exact: false },
  ]);
});

test("stats, types and gates mark estimates, and count small types exactly", async ({ db }) => {
  await fill(db, 120_000, 2);
  await enqueueAll(db, [{ type: "small" }, { type: "small", tenant_id: U }]);
  expect(await db.value("select jobforge_stats() -> 'exact'")).toBe(false);
  expect(await db.value("select jobforge_stats($1) -> 'exact'", [U])).toBe(true);
  expect(
    await db.query("select type, due, exact from jobforge_list_types() where type in ('small', 'many0')"),
  ).toMatchObject([
    { type: "many0", exact: false },
    { type: "small", due: 2, exact: true },
  ]);
  await db.query("select jobforge_set_gate('all', '', true), jobforge_set_gate('type', 'small', true)");
  await db.query("select jobforge_set_gate('tenant', $1, true), jobforge_set_gate('tenant', $2, true)", [
    T,
    U,
  ]);
  const gates = await db.query("select scope, key, waiting::int, exact from jobforge_list_gates()");
  const nearly = expect.toSatisfy((n) => n > 80_000 && n < 160_000);
  expect(gates).toEqual([
    { scope: "all", key: "", waiting: nearly, exact: false },
    { scope: "tenant", key: T, waiting: nearly, exact: false },
    { scope: "tenant", key: U, waiting: 1, exact: true },
    { scope: "type", key: "small", waiting: 2, exact: true },
  ]);
});

test("a tenant counts its own jobs, readers and operators count those of all tenants", async ({ db }) => {
  await enqueueAll(db, [{}, { tenant_id: U }]);
  const tenant = await boundLogin(db, T, "jobforge_tenant");
  expect(await counts(tenant, { p_by: ["tenant"] })).toMatchObject([{ tenant_id: T, queued: 1 }]);
  await expectError(counts(tenant, { p_tenant_id: U }), "42501");
  const reader = await login(db, "jobforge_reader");
  expect(await counts(reader, { p_by: [] })).toMatchObject([{ queued: 2 }]);
  await expectError(counts(await login(db, "jobforge_tenant")), "JF001");
});

test.for([
  ["by", { p_by: ["status"] }],
  ["by", { p_by: null }],
  ["cap", { p_cap: -1 }],
  ["cap", { p_cap: 100_001 }],
] as const)("a wrong %s is refused: %j", async ([field, args], { db }) => {
  await expectError(counts(db, args), "JF002", field);
});
