/** Policies per type, connector configurations, and the audit entries of operators' actions. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  allTenants,
  attemptsOf,
  auditOf,
  claim,
  claimAndFail,
  codeOf,
  complete,
  enqueue,
  expectError,
  find,
  gapOf,
  type Sql,
  setPolicy,
  T,
  travelToRun,
  U,
} from "../support/kernel.ts";
import { boundLogin, login, set } from "../support/tenants.ts";

async function policyOf(db: Sql, type: string): Promise<Record<string, unknown>> {
  return await db.value("select jobforge_get_policy($1)", [type]);
}

const presets: Record<string, { max_attempts: number; gaps: number[] }> = {
  standard: { max_attempts: 5, gaps: [1, 2, 4, 8] },
  quick: { max_attempts: 6, gaps: [1, 2, 4, 8, 16] },
  gentle: { max_attempts: 4, gaps: [10, 20, 40] },
  patient: { max_attempts: 5, gaps: [30, 60, 120, 240] },
  jobforge: { max_attempts: 5, gaps: [1, 2, 4, 8] },
  harmonyk: { max_attempts: 6, gaps: [1, 2, 4, 8, 16] },
  atlas: { max_attempts: 4, gaps: [10, 20, 40] },
  processing: { max_attempts: 5, gaps: [30, 60, 120, 240] },
};

test.for(Object.keys(presets))("the preset %s has its executions and delays", async (preset, { db }) => {
  const { max_attempts, gaps } = presets[preset] ?? expect.fail(preset);
  await setPolicy(db, "a", { preset });
  const { id, ...job } = await enqueue(db);
  expect(job.max_attempts).toBe(max_attempts);
  for (const gap of gaps) {
    expect(await claimAndFail(db)).toMatchObject({ status: "queued" });
    expect(await gapOf(db, id)).toBe(gap);
    await travelToRun(db, id);
  }
  expect(await claimAndFail(db)).toMatchObject({ status: "dead" });
});

test("the preset webhook waits longer each time, for two days", async ({ db }) => {
  await setPolicy(db, "a", { preset: "webhook" });
  const { id, ...job } = await enqueue(db);
  expect(job.max_attempts).toBe(12);
  for (const gap of [5, 25, 125, 625, 3125, 15_625, 36_000]) {
    expect(await claimAndFail(db)).toMatchObject({ status: "queued" });
    const waited = await gapOf(db, id);
    expect(waited).toBeGreaterThanOrEqual(gap * 0.8);
    expect(waited).toBeLessThanOrEqual(gap * 1.2);
    await travelToRun(db, id);
  }
});

const everyKey = {
  base_ms: 5000,
  cap_ms: 7000,
  factor: 3,
  jitter: 0.5,
  max_attempts: 7,
  timeout_ms: 1000,
  lease_ms: 2000,
  audit_action: "DONE",
  keep_history: false,
  retention_days: 9,
  max_priority: 4,
  redact: ["password"],
};

test("every key is stored, keys that are not given keep their value, and given keys override a preset", async ({
  db,
}) => {
  await setPolicy(db, "a", everyKey);
  expect(await policyOf(db, "a")).toMatchObject({ type: "a", ...everyKey });
  await setPolicy(db, "a", { factor: 2, cap_ms: null });
  expect(await policyOf(db, "a")).toMatchObject({ ...everyKey, factor: 2, cap_ms: null });
  await setPolicy(db, "a", { preset: "atlas", max_attempts: 2 });
  expect(await policyOf(db, "a")).toMatchObject({
    base_ms: 10_000,
    cap_ms: null,
    max_attempts: 2,
    audit_action: "DONE",
  });
});

test("'*' is the policy of every type without its own policy", async ({ db }) => {
  await setPolicy(db, "own", { max_attempts: 2 });
  await setPolicy(db, "*", { max_attempts: 9, audit_action: "DONE" });
  expect(await policyOf(db, "own")).toMatchObject({ type: "own", max_attempts: 2, audit_action: null });
  expect(await policyOf(db, "other")).toMatchObject({ type: "*", max_attempts: 9 });
  expect((await enqueue(db, { type: "other" })).max_attempts).toBe(9);
  expect((await enqueue(db, { type: "own" })).max_attempts).toBe(2);
  await setPolicy(db, "late", {});
  expect(await policyOf(db, "late")).toMatchObject({ type: "late", max_attempts: 9, audit_action: "DONE" });
});

const refused: Record<string, unknown[]> = {
  preset: ["nope", null, 5],
  base_ms: [-1, 31_536_000_001, "x", null, 1.5],
  cap_ms: [-1, 31_536_000_001],
  factor: [0.5, 101, "NaN", null],
  jitter: [-0.1, 1.1, "NaN"],
  max_attempts: [0, 100_001, null, "many", 1e12],
  timeout_ms: [0, -1],
  lease_ms: [999],
  audit_action: ["", "x".repeat(201), 5, ["DONE"]],
  keep_history: ["maybe", null, 5],
  retention_days: [0, 3651],
  max_priority: [1_000_001, -1_000_001],
  redact: ["password", null, { a: 1 }],
  maximum: [1],
};

test("a wrong value or an unknown key is refused and changes nothing", async ({ db }) => {
  await setPolicy(db, "a", everyKey);
  const before = await policyOf(db, "a");
  for (const [key, values] of Object.entries(refused)) {
    for (const value of values) {
      const code = await codeOf(setPolicy(db, "a", { max_attempts: 3, [key]: value }));
      expect(code, `${key}: ${JSON.stringify(value)}`).toBe("JF002");
    }
  }
  await expectError(setPolicy(db, "a", { maximum: 1 }), "JF002", "maximum");
  await expect(setPolicy(db, "a", { preset: "nope" })).rejects.toThrow(
    /preset must be standard, quick, gentle, patient or webhook$/,
  );
  for (const type of ["", "  ", "x".repeat(201)]) await expectError(setPolicy(db, type, {}), "JF002", "type");
  for (const policy of ["null", "[]", '"jobforge"', "5", null]) {
    const call = db.query("select jobforge_set_policy('a', $1)", [policy]);
    await expectError(call, "JF002", "policy");
  }
  expect(await policyOf(db, "a")).toEqual(before);
});

test("operators set policies, workers read them too, and a change is in the audit log", async ({ db }) => {
  const operator = await login(db, "jobforge_operator");
  const role = await operator.value<string>("select session_user");
  await setPolicy(operator, "a", { max_attempts: 3 });
  expect(await policyOf(await login(db, "jobforge_worker"), "a")).toMatchObject({
    max_attempts: 3,
    updated_by: role,
  });
  for (const other of ["jobforge_worker", "jobforge_tenant", "jobforge_app", "jobforge_reader"]) {
    expect(await codeOf(setPolicy(await login(db, other), "a", {}))).toBe("42501");
  }
  expect(await codeOf(setPolicy(await boundLogin(db, T, "jobforge_operator"), "a", {}))).toBe("42501");
  expect(
    await db.query(
      "select tenant_id, actor, action, entity_type, entity_id, meta from jobforge_audit_log where entity_type <> 'role'",
    ),
  ).toEqual([
    {
      tenant_id: allTenants,
      actor: role,
      action: "POLICY_SET",
      entity_type: "type",
      entity_id: "a",
      meta: { max_attempts: 3 },
    },
  ]);
});

test("policies are listed by type, page by page, for operators that are not bound to a tenant", async ({
  db,
}) => {
  for (const type of ["b", "a"]) await setPolicy(db, type, { max_attempts: 3 });
  const list = async (filters: object, by: Sql = db): Promise<unknown[]> => {
    const policies = await by.value<{ type: string; max_attempts: number }[]>(
      "select jobforge_list_policies($1)",
      [JSON.stringify(filters)],
    );
    return policies.map(({ type, max_attempts }) => [type, max_attempts]);
  };
  expect(await list({})).toEqual([
    ["*", 5],
    ["a", 3],
    ["b", 3],
  ]);
  expect(await list({ limit: 2 })).toHaveLength(2);
  expect(await list({ limit: 2, cursor: "a" })).toEqual([["b", 3]]);
  await expectError(list({ type: "a" }), "JF002", "type");
  expect(await list({}, await login(db, "jobforge_operator"))).toHaveLength(3);
  expect(await codeOf(list({}, await boundLogin(db, T, "jobforge_operator")))).toBe("42501");
  expect(await codeOf(list({}, await login(db, "jobforge_reader")))).toBe("42501");
});

test("a reset removes the policy of a type, and gives the default policy its first values", async ({
  db,
}) => {
  const reset = async (type: string | null, by: Sql = db): Promise<unknown> =>
    await by.value("select jobforge_reset_policy($1)", [type]);
  const before = await policyOf(db, "*");
  await setPolicy(db, "a", { max_attempts: 3 });
  await setPolicy(db, "*", { max_attempts: 9, redact: ["secret"] });
  const { id } = await enqueue(db);
  expect(await reset("a")).toMatchObject({ type: "a", reset: true, policy: { type: "*", max_attempts: 9 } });
  expect(await reset("a")).toMatchObject({ type: "a", reset: false });
  expect(await find(db, id)).toMatchObject({ max_attempts: 3 });
  expect((await enqueue(db)).max_attempts).toBe(9);
  expect(await reset("*")).toMatchObject({ reset: true });
  const { updated_at: _, updated_by: __, ...values } = before;
  expect(await policyOf(db, "*")).toMatchObject(values);
  await expectError(reset(" "), "JF002", "type");
  await expectError(reset(null), "JF002", "type");
  expect(await codeOf(reset("a", await boundLogin(db, T, "jobforge_operator")))).toBe("42501");
  expect(await codeOf(reset("a", await login(db, "jobforge_worker")))).toBe("42501");
  expect(
    await db.query(
      "select entity_id, tenant_id from jobforge_audit_log where action = 'POLICY_RESET' order by id",
    ),
  ).toEqual([
    { entity_id: "a", tenant_id: allTenants },
    { entity_id: "*", tenant_id: allTenants },
  ]);
});

test("scenario 53: the audit row of a success and the success are one transaction", async ({ db }) => {
  await setPolicy(db, "EMAIL_SEND", { audit_action: "EMAIL_SENT" });
  const { id } = await enqueue(db, { type: "EMAIL_SEND", tenant_id: U });
  await claim(db);
  await db.query("begin");
  await complete(db, id);
  expect(await auditOf(db, id)).toEqual(["EMAIL_SENT"]);
  await db.query("rollback");
  expect(await auditOf(db, id)).toEqual([]);
  expect(await find(db, id)).toMatchObject({ status: "running" });
  await complete(db, id);
  expect(
    await db.query(
      "select tenant_id, actor, action, entity_type, entity_id from jobforge_audit_log where entity_id = $1",
      [id],
    ),
  ).toEqual([{ tenant_id: U, actor: "w1", action: "EMAIL_SENT", entity_type: "job", entity_id: id }]);
});

test("scenario 55: output and cost can be read after success, by the tenant too", async ({ db }) => {
  const { id } = await enqueue(db);
  await claim(db);
  await complete(db, id, { result: { sent: 3 }, artifact_ref: "s3://x", cost_cents: 7 });
  const tenant = await boundLogin(db, T, "jobforge_tenant");
  for (const reader of [db, tenant]) {
    expect(
      await reader.query(
        "select j.status, j.cost_cents, r.result, r.artifact_ref from jobforge_jobs j join jobforge_job_results r on r.id = j.result_id where j.id = $1",
        [id],
      ),
    ).toEqual([{ status: "succeeded", cost_cents: 7, result: { sent: 3 }, artifact_ref: "s3://x" }]);
  }
  const stranger = await boundLogin(db, U, "jobforge_tenant");
  expect(await stranger.query("select result from jobforge_job_results")).toEqual([]);
  expect(await attemptsOf(db, id)).toMatchObject([{ status: "succeeded" }]);
});

async function configure(
  db: Sql,
  config: unknown,
  tenant: string | null = T,
  connector: string | null = "http",
) {
  return await db.value("select jobforge_set_connector_config($1, $2, $3)", [
    tenant,
    connector,
    config === undefined ? null : JSON.stringify(config),
  ]);
}

async function configOf(db: Sql, tenant: string, connector = "http"): Promise<unknown> {
  return await db.value("select jobforge_get_connector_config($1, $2)", [tenant, connector]);
}

test("a connector's configuration is set, replaced, read and removed for each tenant separately", async ({
  db,
}) => {
  await configure(db, { base: "https://t" });
  await configure(db, { base: "https://u" }, U);
  await configure(db, { base: "https://t2" });
  await configure(db, { secret_env: "KEY" }, T, "webhook");
  expect(await configOf(db, T)).toEqual({ base: "https://t2" });
  expect(await configOf(db, U)).toEqual({ base: "https://u" });
  expect(await configOf(db, U, "webhook")).toBeNull();
  await configure(db, undefined);
  expect(await configOf(db, T)).toBeNull();
  expect(await configOf(db, T, "webhook")).toEqual({ secret_env: "KEY" });
  expect(await db.value("select count(*)::int from jobforge_audit_log where entity_type = 'connector'")).toBe(
    5,
  );
});

test("a tenant sees only its own configurations; workers and servers use those of tenants they may act for", async ({
  db,
}) => {
  await configure(db, { base: "t" });
  await configure(db, { base: "u" }, U);
  const tenant = await boundLogin(db, T, "jobforge_tenant");
  expect(await tenant.query("select config from jobforge_connector_configs")).toEqual([
    { config: { base: "t" } },
  ]);
  expect(await codeOf(configure(tenant, {}))).toBe("42501");
  const worker = await boundLogin(db, T, "jobforge_worker");
  expect(await configOf(worker, T)).toEqual({ base: "t" });
  expect(await codeOf(configOf(worker, U))).toBe("42501");
  expect(await codeOf(configure(worker, {}))).toBe("42501");
  expect(await configOf(await login(db, "jobforge_worker"), U)).toEqual({ base: "u" });
  const server = await login(db, "jobforge_app");
  await set(server, "app.tenant_id", T);
  await configure(server, { base: "t2" });
  expect(await codeOf(configure(server, {}, U))).toBe("42501");
  expect(await server.query("select config from jobforge_connector_configs")).toEqual([
    { config: { base: "t2" } },
  ]);
});

test("what a connector would not understand is refused at once, not by every job", async ({ db }) => {
  const whole = {
    allowed_hosts: ["api.example.com", "*.example.org:8443", "[::1]:80"],
    default_headers: { "x-team": "billing", authorization: { $secret: "KEY" } },
    ...{ timeout_ms: 1000, max_bytes: 0, user_agent_suffix: "(acme)", retry_schedule: [5, 86_400] },
  };
  for (const connector of ["http.request", "webhook.deliver"]) {
    for (const config of [{}, { allowed_hosts: [], retry_schedule: [] }, whole]) {
      await configure(db, config, T, connector);
      expect(await configOf(db, T, connector)).toEqual(config);
    }
    for (const [key, value] of [
      ["alowed_hosts", ["a.example"]],
      ["allowed_hosts", ["*"]],
      ["allowed_hosts", ["*.com"]],
      ["allowed_hosts", [""]],
      ["allowed_hosts", "a.example"],
      ["allowed_hosts", null],
      ["default_headers", { host: "a.example" }],
      ["default_headers", { "Metadata-Flavor": "Google" }],
      ["default_headers", { "x-a": "a\r\nb: c" }],
      ["default_headers", { "x-a": { $secret: "lower" } }],
      ["timeout_ms", 0],
      ["max_bytes", 1.5],
      ["user_agent_suffix", "ü"],
      ["retry_schedule", [0]],
    ] as const)
      await expectError(configure(db, { [key]: value }, T, connector), "JF002", `config.${key}`);
    expect(await configOf(db, T, connector)).toEqual(whole);
  }
});

test("an invalid configuration is refused, and the error names the field", async ({ db }) => {
  for (const config of [[], "x", 5, null, { big: "x".repeat(70_000) }]) {
    await expectError(configure(db, config), "JF002", "config");
  }
  for (const connector of [null, "", " ", "x".repeat(201)]) {
    await expectError(configure(db, {}, T, connector), "JF002", "connector_type");
  }
  await expectError(configure(db, {}, null), "JF001", "tenant_id");
  expect(await db.query("select config from jobforge_connector_configs")).toEqual([]);
});
