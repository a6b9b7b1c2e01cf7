/** jobforge_list_audit: the audit log, page by page. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { allTenants, claim, codeOf, enqueue, fail, globalTenant, type Sql, T, U } from "../support/kernel.ts";
import { boundLogin, login, set } from "../support/tenants.ts";

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

test("the cursor of the audit log counts beyond the largest integer", async ({ db }) => {
  await db.query("select setval(pg_get_serial_sequence('jobforge.audit_log', 'id'), 3000000000)");
  const ids = await auditedFailures(db);
  const page = (cursor: string | null) =>
    db.query<{ id: string; entity_id: string }>("select id, entity_id from jobforge_list_audit(null, $1)", [
      JSON.stringify({ limit: 1, cursor }),
    ]);
  const [newest] = await page(null);
  expect(newest?.entity_id).toBe(ids[2]);
  expect(await page(newest?.id ?? "")).toMatchObject([{ entity_id: ids[1] }]);
});

test("only operators list the audit log of all tenants, and a wrong filter is refused", async ({ db }) => {
  const login = await db.createLogin("jobforge_tenant");
  await db.query("select jobforge_bind_role($1, $2)", [login.role, T]);
  const tenant = await db.connect(login.url);
  expect(await codeOf(tenant.query("select jobforge_list_audit()"))).toBe("42501");
  expect(await codeOf(tenant.query("select jobforge_list_audit($1)", [U]))).toBe("42501");
  expect(await codeOf(tenant.query("select jobforge_list_audit($1)", [T]))).toBe("ok");
  const wrong = ['{"acton": "x"}', '{"after": "soon"}', '{"limit": "many"}', '{"cursor": "x"}', "[]"];
  for (const filters of [...wrong, '{"action": ["x"]}', '{"entity_id": 5}'])
    expect(await codeOf(db.query("select jobforge_list_audit(null, $1)", [filters])), filters).toBe("JF002");
});

/** What operators do to the whole installation. Each writes a row into the audit log. */
const installationWide = [
  `select jobforge_set_policy('a', '{"max_attempts": 2}')`,
  "select jobforge_set_limit('type', 'a', 1)",
  "select jobforge_set_limit('key', '*', 1)",
  "select jobforge_remove_limit('type', 'a')",
  "select jobforge_set_gate('all', null, true, 'a move')",
  "select jobforge_set_gate('type', 'a', true)",
  "select jobforge_set_gate('all', null, false)",
  "select jobforge_create_token('ci', 'jobforge_operator')",
  "select jobforge_revoke_token((select id from jobforge_list_tokens() limit 1))",
  "select jobforge_bind_role(session_user, null)",
];

test("the global tenant sees no audit row that concerns the installation, an operator all of them", async ({
  db,
}) => {
  const { id } = await enqueue(db, { tenant_id: globalTenant, max_attempts: 1 });
  await claim(db);
  await fail(db, id);
  for (const call of installationWide) await db.query(call);
  const global = await boundLogin(db, globalTenant, "jobforge_tenant");
  const own = [
    { action: "ROLE_BOUND", tenant_id: globalTenant },
    { action: "JOB_EXHAUSTED_RETRIES", tenant_id: globalTenant },
  ];
  const listed = "select action, tenant_id from jobforge_list_audit($1)";
  expect(await global.query(listed, [globalTenant])).toEqual(own);
  expect(await global.query("select action, tenant_id from jobforge_audit_log order by id desc")).toEqual(
    own,
  );
  const operator = await login(db, "jobforge_operator");
  for (const rows of [
    await operator.query(listed, [null]),
    await operator.query("select action, tenant_id from jobforge_audit_log order by id desc"),
  ])
    expect(rows).toHaveLength(installationWide.length + own.length);
  expect(await operator.query(listed, [allTenants])).toHaveLength(installationWide.length);
});

test("no role can be bound to the scope of all tenants or name it", async ({ db }) => {
  await db.query("select jobforge_set_gate('all', null, true)");
  const { role, url } = await db.createLogin("jobforge_app");
  expect(await codeOf(db.query("select jobforge_bind_role($1, $2)", [role, allTenants]))).toBe("JF002");
  const app = await db.connect(url);
  for (const [name, value] of [
    ["app.tenant_id", allTenants],
    ["request.jwt.claims", JSON.stringify({ tenant_id: allTenants })],
  ] as const) {
    await set(app, name, value);
    expect(await app.query("select from jobforge_audit_log")).toEqual([]);
    expect(await codeOf(app.query("select jobforge_list_audit($1)", [allTenants]))).toBe("42501");
  }
});

test("the actor is the person or the key of the token, and always the role", async ({ db }) => {
  const operator = await login(db, "jobforge_operator");
  const key = await db.value<{ id: string }>("select jobforge_create_token('nightly', 'jobforge_operator')");
  const role = await operator.value<string>("select session_user::text");
  const cases: [object | string, string][] = [
    [{ email: "ada@example.com", sub: "42" }, `ada@example.com (${role})`],
    [{ sub: "42" }, `42 (${role})`],
    [{ sub: key.id }, `key nightly (${role})`],
    [{ email: "a\n(jobforge_operator)" }, `a (jobforge_operator) (${role})`],
    [{ email: "", sub: "" }, role],
    ["nonsense", role],
    ["", role],
  ];
  for (const [claims, actor] of cases) {
    await set(operator, "request.jwt.claims", typeof claims === "string" ? claims : JSON.stringify(claims));
    await operator.query("select jobforge_set_gate('type', 'a', true)");
    const [entry] = await db.query("select actor from jobforge_audit_log order by id desc limit 1");
    expect(entry).toEqual({ actor });
    expect(await db.value("select set_by from jobforge_list_gates()")).toBe(actor);
  }
  const filter = JSON.stringify({ actor: "ada@example.com" });
  expect(await db.query("select from jobforge_list_audit(null, $1)", [filter])).toHaveLength(1);
});
