/** Which tenant a connection acts for, and attempts to act for another. */
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { outcome } from "../support/failures.ts";
import { login, only, populate, seen, set, T, U } from "../support/tenants.ts";

const claims = "request.jwt.claims";
const setting = "app.tenant_id";
const enqueue = "select jobforge_enqueue_job($1, 'mail')";

describe("a login with jobforge_app", () => {
  test("acts for the tenant that it names in app.tenant_id", async ({ db }) => {
    await populate(db);
    const app = await login(db, "jobforge_app");
    await set(app, setting, T);
    expect(await seen(app)).toEqual(only(T));
    expect(await outcome(app.query(enqueue, [T]))).toBe("accepted");
    expect(await outcome(app.query(enqueue, [U]))).toBe("42501");
    await set(app, setting, U.toUpperCase());
    expect(await seen(app)).toEqual(only(U));
  });

  test("names several tenants for jobforge_enqueue_each, and none by that for any other call", async ({
    db,
  }) => {
    const other = "33333333-3333-4333-8333-333333333333";
    const everyone = await db.value<string>("select jobforge.all_tenants()");
    await populate(db);
    const app = await login(db, "jobforge_app");
    const each = async (...tenants: readonly string[]): Promise<string[]> => {
      const jobs = JSON.stringify(tenants.map(() => ({ type: "mail" })));
      const rows = await app.value<{ outcome: string }[]>("select jobforge_enqueue_each($1, $2)", [
        tenants,
        jobs,
      ]);
      return rows.map((row) => row.outcome);
    };
    for (const nothing of ["", "x", `${T};${U}`, everyone]) {
      await set(app, setting, nothing);
      expect(await each(T, U, everyone), nothing).toEqual(["rejected", "rejected", "rejected"]);
    }
    await set(app, setting, T);
    expect(await each(T, U)).toEqual(["created", "rejected"]);
    await set(app, setting, `${T},${U},${everyone}`);
    expect(await each(T, U, other, everyone)).toEqual(["created", "created", "rejected", "rejected"]);
    expect(await seen(app)).toEqual(only());
    expect(await outcome(app.query(enqueue, [T]))).toBe("42501");
    await set(app, claims, JSON.stringify({ tenant_id: T }));
    expect(await each(T, U)).toEqual(["created", "rejected"]);
    await set(app, claims, JSON.stringify({ role: "authenticated" }));
    expect(await each(T, U)).toEqual(["rejected", "rejected"]);
  });

  test.for([
    ["tenant_id", { tenant_id: T }],
    ["app_metadata.tenant_id", { app_metadata: { tenant_id: T } }],
    ["tenant_id rather than app_metadata", { tenant_id: T, app_metadata: { tenant_id: U } }],
    ["tenant_id rather than user_metadata", { tenant_id: T, user_metadata: { tenant_id: U } }],
    ["app_metadata when tenant_id is null", { tenant_id: null, app_metadata: { tenant_id: T } }],
  ] as const)("acts for the tenant of its claims: %s", async ([, value], { db }) => {
    await populate(db);
    const app = await login(db, "jobforge_app");
    await set(app, claims, JSON.stringify(value));
    expect(await seen(app)).toEqual(only(T));
    expect(await outcome(app.query(enqueue, [T]))).toBe("accepted");
    expect(await outcome(app.query(enqueue, [U]))).toBe("42501");
  });

  test("never acts for the tenant in user_metadata, which users can edit", async ({ db }) => {
    await populate(db);
    const app = await login(db, "jobforge_app");
    await set(app, claims, JSON.stringify({ role: "authenticated", user_metadata: { tenant_id: T } }));
    expect(await seen(app)).toEqual(only());
    expect(await outcome(app.query(enqueue, [T]))).toBe("42501");
  });

  test("uses its claims and not app.tenant_id when both are set", async ({ db }) => {
    await populate(db);
    const app = await login(db, "jobforge_app");
    await set(app, setting, U);
    await set(app, claims, JSON.stringify({ tenant_id: T }));
    expect(await seen(app)).toEqual(only(T));
    expect(await outcome(app.query(enqueue, [U]))).toBe("42501");
  });

  test("uses app.tenant_id when the claims are empty, as they are after a transaction of PostgREST", async ({
    db,
  }) => {
    await populate(db);
    const app = await login(db, "jobforge_app");
    await set(app, setting, T);
    await set(app, claims, "");
    expect(await seen(app)).toEqual(only(T));
  });
});

describe("without a tenant nothing is visible and nothing is allowed", () => {
  test("when the setting was never set", async ({ db }) => {
    await populate(db);
    const app = await login(db, "jobforge_app");
    expect(await seen(app)).toEqual(only());
    expect(await outcome(app.query(enqueue, [T]))).toBe("42501");
  });

  test("when app.tenant_id is empty or not a uuid", async ({ db }) => {
    await populate(db);
    const app = await login(db, "jobforge_app");
    const bare = T.replaceAll("-", "");
    for (const value of [
      "",
      " ",
      "null",
      "x",
      `${T}x`,
      `${T}\n`,
      ` ${T}`,
      `{${T}}`,
      bare,
      "%",
      `${T}' or true --`,
    ]) {
      await set(app, setting, value);
      expect(await seen(app), value).toEqual(only());
      expect(await outcome(app.query(enqueue, [T])), value).toBe("42501");
    }
  });

  test("when the claims are malformed or name no tenant, even if app.tenant_id names one", async ({ db }) => {
    await populate(db);
    const app = await login(db, "jobforge_app");
    await set(app, setting, T);
    const notJson = [" ", "{", T, `{"tenant_id": "${T}"`, "[".repeat(5000)];
    const notObjects = ["null", "true", "42", "[]", `"${T}"`, `["${T}"]`, `[{"tenant_id": "${T}"}]`];
    const notTenants = [
      "{}",
      '{"tenant_id": ""}',
      '{"tenant_id": "x"}',
      '{"tenant_id": 42}',
      `{"tenant_id": ["${T}"]}`,
      `{"tenant_id": {"tenant_id": "${T}"}}`,
      `{"tenant_id": "x", "app_metadata": {"tenant_id": "${T}"}}`,
      `{"app_metadata": "${T}"}`,
      `{"app_metadata": ["${T}"]}`,
      `{"app_metadata": null, "sub": "${T}"}`,
      `{"tenant_id": "${T}\\u0000"}`,
      `{"Tenant_Id": "${T}"}`,
    ];
    for (const value of [...notJson, ...notObjects, ...notTenants]) {
      await set(app, claims, value);
      expect(await seen(app), value).toEqual(only());
      expect(await outcome(app.query(enqueue, [T])), value).toBe("42501");
    }
  });

  test("when a login with only jobforge_tenant names a tenant, by setting or by claims", async ({ db }) => {
    await populate(db);
    const tenant = await login(db, "jobforge_tenant");
    const attempts: [string, string][] = [
      [setting, T],
      [claims, JSON.stringify({ tenant_id: T })],
      [claims, JSON.stringify({ role: "jobforge_app", app_metadata: { tenant_id: T } })],
      ["request.jwt.claim.tenant_id", T],
      ["request.jwt.claim.role", "jobforge_app"],
    ];
    for (const [name, value] of attempts) {
      await set(tenant, name, value);
      expect(await seen(tenant)).toEqual(only());
      expect(await outcome(tenant.query(enqueue, [T]))).toBe("42501");
      expect(await outcome(tenant.query("select jobforge_list_jobs($1)", [T]))).toBe("42501");
    }
  });

  test("when a worker names a tenant: workers may not read views", async ({ db }) => {
    const worker = await login(db, "jobforge_worker");
    await set(worker, setting, T);
    expect(await outcome(worker.query("select from jobforge_jobs"))).toBe("42501");
  });
});

describe("a tenant named for one transaction", () => {
  test.for([setting, claims])(
    "by %s does not apply to the next transaction of the connection",
    async (name, { db }) => {
      await populate(db);
      const app = await login(db, "jobforge_app");
      const value = name === claims ? JSON.stringify({ tenant_id: T }) : T;
      for (const end of ["commit", "rollback"]) {
        await app.query("begin");
        await app.query("select set_config($1, $2, true)", [name, value]);
        expect(await seen(app)).toEqual(only(T));
        await app.query(end);
        expect(await app.value("select current_setting($1)", [name])).toBe("");
        expect(await seen(app)).toEqual(only());
        expect(await outcome(app.query(enqueue, [T]))).toBe("42501");
      }
    },
  );

  test("does not change which tenant a prepared statement sees later", async ({ db }) => {
    await populate(db);
    const app = await login(db, "jobforge_app");
    const tenants = async (): Promise<string[]> => {
      const { rows } = await app.client.query<{ tenant_id: string }>({
        name: "tenants",
        text: "select distinct tenant_id::text from jobforge_jobs",
      });
      return rows.map((row) => row.tenant_id);
    };
    // More than the five executions after which Postgres may use a generic plan.
    for (let round = 0; round < 8; round++) {
      const tenant = round % 2 === 0 ? T : U;
      await app.query("begin");
      await app.query("select set_config($1, $2, true)", [setting, tenant]);
      expect(await tenants()).toEqual([tenant]);
      await app.query("commit");
      expect(await tenants()).toEqual([]);
    }
  });
});

describe("PostgREST: a login without rights that sets another role", () => {
  test("acts for the tenant of the claims as the authenticated role, and has no rights otherwise", async ({
    db,
  }) => {
    await populate(db);
    const authenticated = (await db.createLogin("jobforge_app")).role;
    const anonymous = (await db.createLogin()).role;
    const authenticator = await db.createLogin(
      authenticated,
      anonymous,
      "jobforge_operator",
      "jobforge_worker",
    );
    await db.query(`alter role ${authenticator.role} noinherit`);
    // From 16 on, the grant and not the role decides whether rights are inherited.
    for (const role of [authenticated, anonymous, "jobforge_operator", "jobforge_worker"]) {
      await db.query(`revoke ${role} from ${authenticator.role}`);
      await db.query(`grant ${role} to ${authenticator.role}`);
    }
    const rest = await db.connect(authenticator.url);
    await set(rest, claims, JSON.stringify({ tenant_id: T, role: authenticated }));
    expect(await outcome(rest.query("select from jobforge_jobs"))).toBe("42501");
    await rest.query(`set role ${authenticated}`);
    expect(await seen(rest)).toEqual(only(T));
    expect(await outcome(rest.query(enqueue, [T]))).toBe("accepted");
    expect(await outcome(rest.query(enqueue, [U]))).toBe("42501");
    // The login could set the role of an operator or a worker, but it has not done so.
    expect(await outcome(rest.query("select jobforge_set_policy('mail', '{}')"))).toBe("42501");
    expect(await outcome(rest.query("select from jobforge_claim_jobs('w')"))).toBe("42501");
    await rest.query(`set role ${anonymous}`);
    expect(await outcome(rest.query("select from jobforge_jobs"))).toBe("42501");
    expect(await outcome(rest.query(enqueue, [T]))).toBe("42501");
  });

  test("an audit row names the role that was set, not the login", async ({ db }) => {
    const authenticated = (await db.createLogin("jobforge_app")).role;
    const authenticator = await db.createLogin(authenticated);
    const rest = await db.connect(authenticator.url);
    await rest.query(`set role ${authenticated}`);
    await set(rest, setting, T);
    const id = await rest.value<string>("select jobforge_enqueue_job($1, 'mail') ->> 'id'", [T]);
    await rest.query("select jobforge_cancel_job($1, $2)", [id, T]);
    expect(await rest.query("select distinct actor from jobforge_audit_log")).toEqual([
      { actor: authenticated },
    ]);
  });
});

describe("an operator", () => {
  test("sees every tenant in every view", async ({ db }) => {
    await populate(db);
    expect(await seen(await login(db, "jobforge_operator"))).toEqual(only(T, U));
  });

  test("that names a tenant sees only that tenant", async ({ db }) => {
    await populate(db);
    const operator = await login(db, "jobforge_operator", "jobforge_app");
    expect(await seen(operator)).toEqual(only(T, U));
    await set(operator, setting, U);
    expect(await seen(operator)).toEqual(only(U));
    await set(operator, claims, JSON.stringify({ tenant_id: T }));
    expect(await seen(operator)).toEqual(only(T));
  });

  test("acts for any tenant", async ({ db }) => {
    const { t, u } = await populate(db);
    const operator = await login(db, "jobforge_operator");
    expect(await outcome(operator.query("select jobforge_cancel_job($1, $2)", [t.queued, T]))).toBe(
      "accepted",
    );
    expect(await outcome(operator.query("select jobforge_reschedule_job($1, $2)", [u.dead, U]))).toBe(
      "accepted",
    );
    expect(await operator.value("select count(*)::int from jobforge_list_jobs($1)", [U])).toBe(4);
  });
});
