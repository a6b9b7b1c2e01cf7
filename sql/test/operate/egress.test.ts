/** The egress policy: only operators widen what connectors reach, and what workers could not read is refused. */
import { expect } from "vitest";
import table from "../../../conformance/egress.json" with { type: "json" };
import { test } from "../../../test/database.ts";
import { codeOf, T, U } from "../support/kernel.ts";

const { cases } = table;
const set = "select jobforge_set_egress_policy($1, $2)";
const get = "select jobforge_get_egress_policy($1)";

test("operators set the policy of all tenants and of one, and each change is audited", async ({ db }) => {
  await db.query(set, [null, { allow_http: true }]);
  await db.query(set, [T, { allow_cidrs: ["10.1.0.0/16"], secrets: { KEY: { hosts: ["*.example.com"] } } }]);
  expect(await db.value(get, [T])).toEqual({
    all: { allow_http: true },
    tenant: { allow_cidrs: ["10.1.0.0/16"], secrets: { KEY: { hosts: ["*.example.com"] } } },
  });
  expect(await db.value(get, [U])).toEqual({ all: { allow_http: true }, tenant: null });
  await db.query(set, [T, null]);
  expect(await db.value(get, [T])).toEqual({ all: { allow_http: true }, tenant: null });
  const audit = await db.query(
    "select entity_id, meta -> 'policy' as policy from jobforge.audit_log where action = 'EGRESS_POLICY_SET' order by id",
  );
  expect(audit.map(({ policy }) => policy)).toEqual([
    { allow_http: true },
    { allow_cidrs: ["10.1.0.0/16"], secrets: { KEY: { hosts: ["*.example.com"] } } },
    null,
  ]);
  expect(audit[1]?.["entity_id"]).toBe(T);
});

test.for(["jobforge_tenant", "jobforge_app", "jobforge_worker", "jobforge_reader"])(
  "%s may not widen it",
  async (role, { db }) => {
    await using client = await db.connect();
    await client.query(`set app.tenant_id = '${T}'`);
    await client.query(`set role ${role}`);
    expect(await codeOf(client.query(set, [T, { allow_http: true }]))).toBe("42501");
    expect(await codeOf(client.query(set, [null, { allow_http: true }]))).toBe("42501");
  },
);

test.for([
  ...cases.refused_policies,
  { proxy: "http://user:password@proxy:3128" },
  { allow_names: "billing" },
  ["allow_http"],
])("%j is refused: no worker would understand it", async (policy, { db }) => {
  const error = await db.query(set, [null, JSON.stringify(policy)]).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "JF002" });
  const [key] = Object.keys(Array.isArray(policy) ? {} : policy);
  const { field } = JSON.parse(String((error as { detail: string }).detail)) as { field: string };
  expect(field).toBe(key === undefined ? "policy" : `policy.${key}`);
  expect(await db.value(get, [null])).toEqual({ all: null, tenant: null });
});

test("every form that a worker reads is accepted", async ({ db }) => {
  for (const policy of cases.policies) {
    await db.query(set, [null, policy]);
    expect(await db.value(get, [null])).toEqual({ all: policy, tenant: null });
  }
});
