/** Labels of tenants, and the list of tenants. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { T, U } from "../support/kernel.ts";

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
