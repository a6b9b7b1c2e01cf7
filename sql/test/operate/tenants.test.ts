/** Labels of tenants, and the list of tenants. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { enqueueAll, T, U } from "../support/kernel.ts";

const global = "00000000-0000-0000-0000-000000000000";
const set = "select jobforge_set_tenant($1, $2)";

test("a label is kept, changed and removed like the other settings", async ({ db }) => {
  const label = (settings: object) => db.value(`${set} ->> 'label'`, [T, JSON.stringify(settings)]);
  expect(await label({ weight: 2 })).toBeNull();
  expect(await label({ label: "org_123" })).toBe("org_123");
  expect(await label({ weight: 3 })).toBe("org_123");
  expect(await db.value("select jobforge_get_tenant($1)", [T])).toMatchObject({
    label: "org_123",
    weight: 3,
  });
  expect(await label({ label: null })).toBeNull();
  for (const wrong of [{ label: "" }, { label: 7 }, { label: "x".repeat(1025) }, { label: ["a"] }])
    await expect(label(wrong)).rejects.toMatchObject({
      code: "JF002",
      detail: expect.stringContaining("label"),
    });
});

test("the list has the tenants with settings or jobs, in pages", async ({ db }) => {
  expect(await db.query("select * from jobforge_list_tenants()")).toEqual([]);
  await db.query(set, [U, '{"label": "org_2", "max_pending": 5}']);
  for (const [tenant, type] of [
    [T, "a"],
    [T, "b"],
    [global, "a"],
  ])
    await db.query("select jobforge_enqueue_job($1, $2)", [tenant, type]);
  const all = await db.query("select * from jobforge_list_tenants()");
  expect(all).toMatchObject([
    { tenant_id: global, label: null, weight: 1, seen_at: expect.any(Date) },
    { tenant_id: T, max_pending: null, max_types: 1000, seen_at: expect.any(Date) },
    { tenant_id: U, label: "org_2", max_pending: 5, seen_at: null },
  ]);
  const paged: unknown[] = [];
  let after: unknown = null;
  for (;;) {
    const [row] = await db.query("select * from jobforge_list_tenants($1, 1)", [after]);
    if (row === undefined) break;
    paged.push(row);
    after = row["tenant_id"];
  }
  expect(paged).toEqual(all);
  await expect(db.query("select jobforge_list_tenants(null, 0)")).rejects.toMatchObject({ code: "JF002" });
});

test("a bound reader sees its own tenant only", async ({ db }) => {
  for (const tenant of [global, T, U]) await db.query("select jobforge_enqueue_job($1, 'a')", [tenant]);
  const login = await db.createLogin("jobforge_reader");
  await db.query("select jobforge_bind_role($1, $2)", [login.role, T]);
  const reader = await db.connect(login.url);
  expect(await reader.query("select tenant_id from jobforge_list_tenants()")).toEqual([{ tenant_id: T }]);
  expect(await reader.query("select tenant_id from jobforge_list_tenants($1)", [T])).toEqual([]);
});

test("a list with figures says what tenants do now and did lately", async ({ db }) => {
  await enqueueAll(db, [
    { type: "a" },
    { type: "a", in: "1 hour" },
    { type: "a", tenant_id: U },
    { type: "a", tenant_id: U },
  ]);
  const [run] = await db.query<{ id: string }>("select id from jobforge_claim_jobs('w', 1, null, $1)", [U]);
  await db.query("select jobforge_complete_job($1, 'w', 'succeeded')", [run?.id]);
  await db.query("select id from jobforge_claim_jobs('w', 1, null, $1)", [U]);
  await db.query("select jobforge_maintain()");
  const figures = `select tenant_id, due::integer, scheduled::integer, running::integer, exact, runs::integer
    from jobforge_list_tenants(p_figures => true)`;
  expect(await db.query(figures)).toEqual([
    { tenant_id: T, due: 1, scheduled: 1, running: 0, exact: true, runs: 0 },
    { tenant_id: U, due: 0, scheduled: 0, running: 1, exact: true, runs: 1 },
  ]);
  expect(await db.query("select due, runs from jobforge_list_tenants(null, 1)")).toEqual([
    { due: null, runs: null },
  ]);
  await expect(db.query("select jobforge_list_tenants(null, 101, null, true)")).rejects.toMatchObject({
    code: "JF002",
  });
  const login = await db.createLogin("jobforge_reader");
  await db.query("select jobforge_bind_role($1, $2)", [login.role, T]);
  expect(await (await db.connect(login.url)).query(figures)).toMatchObject([{ tenant_id: T, due: 1 }]);
});

test("tenants are found by a part of their label and by their id", async ({ db }) => {
  await db.query(set, [T, '{"label": "Acme Inc. 100%"}']);
  await db.query(set, [U, '{"label": "Umbrella"}']);
  const mapped = await db.value<string>("select jobforge_tenant_id('org_9')");
  await db.query("select jobforge_enqueue_job($1, 'a')", [mapped]);
  const search = async (text: string): Promise<unknown[]> =>
    (await db.query("select tenant_id from jobforge_list_tenants(p_search => $1)", [text])).map(
      ({ tenant_id }) => tenant_id,
    );
  expect(await search("acme")).toEqual([T]);
  expect(await search("0%")).toEqual([T]);
  expect(await search("%")).toEqual([T]);
  expect(await search("m")).toEqual([T, U]);
  expect(await search(U.toUpperCase())).toEqual([U]);
  expect(await search("org_9")).toEqual([mapped]);
  expect(await search("nobody")).toEqual([]);
  expect(await search("")).toHaveLength(3);
});
