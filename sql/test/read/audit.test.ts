/** jobforge_list_audit: the audit log, page by page. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claim, codeOf, enqueue, fail, type Sql, T, U } from "../support/kernel.ts";

/** Three jobs of two tenants that failed permanently, each with its row in the audit log. */
async function auditedFailures(db: Sql): Promise<string[]> {
  const ids: string[] = [];
  for (const tenant_id of [T, U, T]) {
    const { id } = await enqueue(db, { tenant_id, max_attempts: 1 });
    await claim(db);
    await fail(db, id);
    ids.push(id);
  }
  return ids;
}

test("the audit log is listed newest first, page by page, for one tenant or for all", async ({ db }) => {
  const ids = await auditedFailures(db);
  const list = async (tenant: string | null, filters: object = {}) =>
    await db.query<{ id: string; entity_id: string }>(
      "select id, entity_id from jobforge_list_audit($1, $2)",
      [tenant, JSON.stringify(filters)],
    );
  const entities = (rows: { entity_id: string }[]) => rows.map((row) => row.entity_id);
  expect(entities(await list(T))).toEqual([ids[2], ids[0]]);
  expect(entities(await list(null))).toEqual([...ids].reverse());
  expect(entities(await list(null, { entity_id: ids[1] }))).toEqual([ids[1]]);
  expect(entities(await list(null, { action: "JOB_FAILED" }))).toEqual([]);
  expect(entities(await list(null, { action: "JOB_EXHAUSTED_RETRIES", limit: 2 }))).toEqual([ids[2], ids[1]]);
  const [first] = await list(T, { limit: 1 });
  expect(entities(await list(T, { cursor: first?.id }))).toEqual([ids[0]]);
  expect(await list(null, { after: "2999-01-01" })).toEqual([]);
  expect(await list(null, { before: "2000-01-01" })).toEqual([]);
});

test("only operators list the audit log of all tenants, and a wrong filter is refused", async ({ db }) => {
  const login = await db.createLogin("jobforge_tenant");
  await db.query("select jobforge_bind_role($1, $2)", [login.role, T]);
  const tenant = await db.connect(login.url);
  expect(await codeOf(tenant.query("select jobforge_list_audit()"))).toBe("42501");
  expect(await codeOf(tenant.query("select jobforge_list_audit($1)", [U]))).toBe("42501");
  expect(await codeOf(tenant.query("select jobforge_list_audit($1)", [T]))).toBe("ok");
  for (const filters of ['{"acton": "x"}', '{"after": "soon"}', '{"limit": "many"}', '{"cursor": "x"}', "[]"])
    expect(await codeOf(db.query("select jobforge_list_audit(null, $1)", [filters])), filters).toBe("JF002");
});
