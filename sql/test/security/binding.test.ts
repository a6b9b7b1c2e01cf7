/** Logins that are bound to a tenant. Nothing that such a login does makes it act for another tenant. */
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { outcome } from "../support/failures.ts";
import { boundLogin, login, only, populate, seen, set, T, U } from "../support/tenants.ts";

const enqueue = "select jobforge_enqueue_job($1, 'mail')";
const claim = "select tenant_id from jobforge_claim_jobs('w2', 100)";

describe("a bound login", () => {
  test("acts for its tenant without naming it", async ({ db }) => {
    await populate(db);
    const tenant = await boundLogin(db, T, "jobforge_tenant");
    expect(await seen(tenant)).toEqual(only(T));
    expect(await outcome(tenant.query(enqueue, [T]))).toBe("accepted");
    expect(await outcome(tenant.query(enqueue, [U]))).toBe("42501");
  });

  test.for([["jobforge_tenant"], ["jobforge_app"], ["jobforge_app", "jobforge_operator"]])(
    "with %j acts for its tenant, whatever it sets",
    async (roles, { db }) => {
      await populate(db);
      const tenant = await boundLogin(db, T, ...roles);
      await set(tenant, "app.tenant_id", U);
      expect(await seen(tenant)).toEqual(only(T));
      await set(
        tenant,
        "request.jwt.claims",
        JSON.stringify({ tenant_id: U, app_metadata: { tenant_id: U } }),
      );
      expect(await seen(tenant)).toEqual(only(T));
      expect(await outcome(tenant.query(enqueue, [U]))).toBe("42501");
      expect(await outcome(tenant.query("select jobforge_list_jobs($1)", [U]))).toBe("42501");
    },
  );

  test("with jobforge_app cannot act for another tenant after SET ROLE", async ({ db }) => {
    await populate(db);
    const tenant = await boundLogin(db, T, "jobforge_app");
    await tenant.query("set role jobforge_app");
    await set(tenant, "app.tenant_id", U);
    expect(await seen(tenant)).toEqual(only(T));
    expect(await outcome(tenant.query(enqueue, [U]))).toBe("42501");
  });

  test("with jobforge_worker cannot claim for other tenants after SET ROLE", async ({ db }) => {
    await populate(db);
    const worker = await boundLogin(db, T, "jobforge_worker");
    await worker.query("set role jobforge_worker");
    expect(await worker.query(claim)).toEqual([{ tenant_id: T }]);
    expect(await outcome(worker.query(enqueue, [U]))).toBe("42501");
  });

  test("with jobforge_operator has no rights of an operator, not even after SET ROLE", async ({ db }) => {
    await populate(db);
    const { role, url } = await db.createLogin("jobforge_operator");
    await db.query("select jobforge_bind_role($1, $2)", [role, T]);
    const bound = await db.connect(url);
    for (const taken of ["none", "jobforge_operator"]) {
      await bound.query(`set role ${taken}`);
      expect(await seen(bound)).toEqual(only(T));
      expect(await outcome(bound.query("select jobforge_set_policy('mail', '{}')"))).toBe("42501");
      expect(await outcome(bound.query("select jobforge_bind_role($1, null)", [role]))).toBe("42501");
      expect(await outcome(bound.query(enqueue, [U]))).toBe("42501");
    }
  });

  test("with jobforge_operator or jobforge_reader learns nothing about other tenants' gates and workers", async ({
    db,
  }) => {
    await db.query("select jobforge_set_gate('tenant', $1, true)", [U]);
    const theirs = await boundLogin(db, U, "jobforge_worker");
    await theirs.query("select jobforge_heartbeat_worker('theirs')");
    for (const role of ["jobforge_operator", "jobforge_reader"]) {
      const bound = await boundLogin(db, T, role);
      for (const list of ["jobforge_list_gates()", "jobforge_list_workers()"]) {
        const answer = await bound
          .value<string>(`select coalesce(string_agg(l::text, ' '), '') from ${list} l`)
          .catch((error: unknown) => String(error));
        expect(answer, `${role}: ${list}`).not.toMatch(/22222222|theirs/);
      }
    }
  });

  test("without any JobForge role may do nothing", async ({ db }) => {
    const stranger = await boundLogin(db, T);
    expect(await outcome(stranger.query("select from jobforge_jobs"))).toBe("42501");
    expect(await outcome(stranger.query(enqueue, [T]))).toBe("42501");
  });

  test("can also be a role that another login sets", async ({ db }) => {
    await populate(db);
    const { role } = await db.createLogin("jobforge_app");
    await db.query("select jobforge_bind_role($1, $2)", [role, T]);
    const rest = await login(db, role);
    await rest.query(`set role ${role}`);
    await set(rest, "app.tenant_id", U);
    expect(await seen(rest)).toEqual(only(T));
  });
});

describe("binding", () => {
  test("takes effect with the next call of an open connection, and so does unbinding", async ({ db }) => {
    await populate(db);
    const { role, url } = await db.createLogin("jobforge_tenant");
    const tenant = await db.connect(url);
    expect(await seen(tenant)).toEqual(only());
    for (const to of [T, U, null]) {
      await db.query("select jobforge_bind_role($1, $2)", [role, to]);
      expect(await seen(tenant)).toEqual(to === null ? only() : only(to));
    }
  });

  test.for(["jobforge_tenant", "jobforge_app", "jobforge_worker", "jobforge_reader"])(
    "is refused to %s",
    async (granted, { db }) => {
      const { role, url } = await db.createLogin(granted);
      const connection = await db.connect(url);
      await set(connection, "app.tenant_id", T);
      expect(await outcome(connection.query("select jobforge_bind_role($1, $2)", [role, U]))).toBe("42501");
      expect(await db.query("select from jobforge.role_bindings")).toEqual([]);
    },
  );

  test.for(["jobforge_app", "jobforge_worker", "jobforge_owner", "no_such_role", "", null])(
    "%j is refused: only a login can be bound",
    async (role, { db }) => {
      expect(await outcome(db.query("select jobforge_bind_role($1, $2)", [role, T]))).toBe("JF002");
    },
  );

  test("is written to the audit log", async ({ db }) => {
    const { role } = await db.createLogin();
    await db.query("select jobforge_bind_role($1, $2)", [role, T]);
    await db.query("select jobforge_bind_role($1, null)", [role]);
    expect(
      await db.query(
        "select action, entity_id from jobforge_audit_log where entity_type = 'role' order by id",
      ),
    ).toEqual([
      { action: "ROLE_BOUND", entity_id: role },
      { action: "ROLE_UNBOUND", entity_id: role },
    ]);
  });
});
