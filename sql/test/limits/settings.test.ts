/** How limits are set, read and removed, and by whom. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  allTenants,
  claim,
  claimIds,
  codeOf,
  enqueueAll,
  enqueueMany,
  expectError,
  T,
  U,
} from "../support/kernel.ts";
import { type LimitOptions, removeLimit, setLimit } from "../support/limits.ts";
import { boundLogin, login } from "../support/tenants.ts";

const wrong: [what: string, scope: string | null, key: string | null, limit: LimitOptions, field: string][] =
  [
    ["no scope", null, "a", { max: 1 }, "scope"],
    ["an unknown scope", "queue", "a", { max: 1 }, "scope"],
    ["no key", "type", null, { max: 1 }, "key"],
    ["an empty key", "key", "", { max: 1 }, "key"],
    ["a key that is too long", "key", "x".repeat(1025), { max: 1 }, "key"],
    ["a type that is too long", "type", "x".repeat(201), { max: 1 }, "key"],
    ["a tenant that is none", "tenant", "acme", { max: 1 }, "key"],
    ["a type without a tenant", "type_tenant", "a", { max: 1 }, "key"],
    ["a tenant without a type", "type_tenant", `:${T}`, { max: 1 }, "key"],
    ["a type of a tenant that is none", "type_tenant", "a:acme", { max: 1 }, "key"],
    ["a type of a tenant that cannot be one", "type_tenant", `send mail:${T}`, { max: 1 }, "key"],
    ["a type that cannot be one, of any tenant", "type_tenant", "send mail:*", { max: 1 }, "key"],
    ["less than none", "type", "a", { max: -1 }, "max_running"],
    ["a rate of nothing", "type", "a", { rate: 0, per: "1 second" }, "rate"],
    ["a rate without a time", "type", "a", { rate: 1 }, "per"],
    ["a time without a rate", "type", "a", { per: "1 second" }, "per"],
    ["a time that is too short", "type", "a", { rate: 1, per: "1 microsecond" }, "per"],
    ["a time that goes back", "type", "a", { rate: 1, per: "-1 second" }, "per"],
    ["a burst without a rate", "type", "a", { burst: 1 }, "burst"],
    ["a burst of nothing", "type", "a", { rate: 1, per: "1 second", burst: 0 }, "burst"],
  ];

test.for(wrong)("a limit with %s is refused", async ([, scope, key, limit, field], { db }) => {
  await expectError(setLimit(db, scope, key, limit), "JF002", field);
  expect(await db.query("select * from jobforge_list_limits()")).toEqual([]);
});

test.for([
  ["type", "a", true],
  ["type", "b", false],
  ["type", "*", true],
  ["tenant", T, true],
  ["tenant", U, false],
  ["type_tenant", `a:${T}`, true],
  ["type_tenant", `a:${U}`, false],
  ["type_tenant", `b:${T}`, false],
  ["type_tenant", "a:*", true],
  ["type_tenant", "b:*", false],
  ["key", "anything", true],
] as const)("a limit of %s %s is known: %s", async ([scope, key, known], { db }) => {
  await enqueueAll(db, [{ type: "a" }]);
  expect(await setLimit(db, scope, key, { max: 1 })).toMatchObject({ known });
});

test("a limit is returned, listed, replaced and removed, and the audit log has the actor", async ({ db }) => {
  const set = await setLimit(db, "type_tenant", `a:b:${T.toUpperCase()}`, {
    max: 3,
    rate: 5,
    per: "1 minute",
  });
  expect(set).toMatchObject({ scope: "type_tenant", key: `a:b:${T}`, max_running: 3, rate: 5, burst: 5 });
  await setLimit(db, "type", "a", { max: 9 });
  await setLimit(db, "type", "a", { max: 0 });
  expect(await db.value("select jobforge_get_limit('type', 'a') -> 'max_running'")).toBe(0);
  expect(await db.value("select jobforge_get_limit('type', 'b')")).toBeNull();
  expect(await db.query("select scope, key, max_running, rate, burst from jobforge_list_limits()")).toEqual([
    { scope: "type", key: "a", max_running: 0, rate: null, burst: null },
    { scope: "type_tenant", key: `a:b:${T}`, max_running: 3, rate: 5, burst: 5 },
  ]);
  await removeLimit(db, "type", "a");
  expect(
    await db.query(
      "select action, entity_id, tenant_id, meta -> 'max_running' as max from jobforge.audit_log where entity_type = 'limit' order by id",
    ),
  ).toEqual([
    { action: "LIMIT_SET", entity_id: `type_tenant:a:b:${T}`, tenant_id: T, max: 3 },
    { action: "LIMIT_SET", entity_id: "type:a", tenant_id: allTenants, max: 9 },
    { action: "LIMIT_SET", entity_id: "type:a", tenant_id: allTenants, max: 0 },
    { action: "LIMIT_REMOVED", entity_id: "type:a", tenant_id: allTenants, max: null },
  ]);
});

test("a key's own limit overrides the default, and may be no limit", async ({ db }) => {
  await setLimit(db, "tenant", "*", { max: 1 });
  await setLimit(db, "tenant", U, {});
  await enqueueMany(db, 3);
  await enqueueMany(db, 3, { tenant_id: U });
  const claimed = await claim(db);
  expect(claimed.filter((job) => job.tenant_id === T)).toHaveLength(1);
  expect(claimed.filter((job) => job.tenant_id === U)).toHaveLength(3);
});

test("the limit of a tenant's type overrides that of the type's tenants, which overrides the default", async ({
  db,
}) => {
  await setLimit(db, "type_tenant", "*", { max: 1 });
  await setLimit(db, "type_tenant", "a:*", { max: 2 });
  await setLimit(db, "type_tenant", `a:${U}`, { max: 3 });
  for (const tenant_id of [T, U])
    for (const type of ["a", "b"]) await enqueueMany(db, 5, { tenant_id, type });
  const claimed = await claim(db, "w1", { limit: 100 });
  const count = (tenant: string, type: string): number =>
    claimed.filter((job) => job.tenant_id === tenant && job.type === type).length;
  expect([count(T, "a"), count(T, "b"), count(U, "a"), count(U, "b")]).toEqual([2, 1, 3, 1]);
});

test("a limit of zero stops starts until it is raised", async ({ db }) => {
  for (const [scope, key] of [
    ["type", "a"],
    ["tenant", T],
  ] as const) {
    await setLimit(db, scope, key, { max: 0 });
    const ids = await enqueueAll(db, [{}]);
    expect(await claimIds(db)).toEqual([]);
    await removeLimit(db, scope, key);
    expect(await claimIds(db)).toEqual(ids);
  }
});

test("a type without a worker does not take the room of the tenant's other types", async ({ db }) => {
  await setLimit(db, "tenant", T, { max: 1 });
  const [running, , handled] = await enqueueAll(db, [{}, { type: "unhandled" }, {}]);
  expect(await claimIds(db)).toEqual([running]);
  await db.query("select jobforge_complete_job($1, 'w1', 'succeeded')", [running]);
  expect(await claimIds(db, "w1", { types: ["a"] })).toEqual([handled]);
});

test("operators set limits, readers read them, a bound reader those that concern it, and other roles neither", async ({
  db,
}) => {
  await setLimit(db, "tenant", T, { max: 1 });
  await setLimit(db, "tenant", U, { max: 2 });
  await setLimit(db, "type_tenant", "a:*", { max: 2 });
  await setLimit(db, "key", "somebody's", { max: 2 });
  const operator = await login(db, "jobforge_operator");
  expect(await codeOf(setLimit(operator, "type", "a", { max: 1 }))).toBe("ok");
  expect(await codeOf(removeLimit(operator, "type", "a"))).toBe("ok");
  const reader = await login(db, "jobforge_reader");
  expect(await reader.query("select * from jobforge_list_limits()")).toHaveLength(4);
  expect(await codeOf(setLimit(reader, "type", "a", { max: 1 }))).toBe("42501");
  const bound = await boundLogin(db, T, "jobforge_reader");
  expect(await bound.query("select scope, key from jobforge_list_limits()")).toEqual([
    { scope: "tenant", key: T },
    { scope: "type_tenant", key: "a:*" },
  ]);
  expect(await bound.value("select jobforge_get_limit('tenant', $1)", [U])).toBeNull();
  for (const role of ["jobforge_tenant", "jobforge_app", "jobforge_worker"]) {
    const other = await login(db, role);
    expect(await codeOf(setLimit(other, "type", "a", { max: 1 })), role).toBe("42501");
    expect(await codeOf(removeLimit(other, "type", "a")), role).toBe("42501");
    expect(await codeOf(other.query("select * from jobforge_list_limits()")), role).toBe("42501");
  }
});
