/** Logins that are bound to a tenant. Nothing that such a login does makes it act for another tenant. */

import type { TestDatabase } from "@jobforge/testing";
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { outcome } from "../support/failures.ts";
import { boundLogin, login, only, populate, seen, set, T, U } from "../support/tenants.ts";

const enqueue = "select jobforge_enqueue_job($1, 'mail')";
/** Returns the roles whose bindings are stale. */
const stale = (db: TestDatabase): Promise<unknown> =>
  db.value("select jobforge_health() -> 'stale_bindings'");
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

describe("a binding fails closed:", () => {
  /** A role that cannot log in, bound before it lost that right. */
  const boundGroup = async (db: TestDatabase, tenant: string, ...roles: string[]): Promise<string> => {
    const { role } = await db.createLogin(...roles);
    await db.query("select jobforge_bind_role($1, $2)", [role, tenant]);
    await db.query(`alter role ${role} nologin`);
    return role;
  };

  test("a role that cannot log in is not bound", async ({ db }) => {
    const { role } = await db.createLogin("jobforge_worker");
    await db.query(`alter role ${role} nologin`);
    expect(await outcome(db.query("select jobforge_bind_role($1, $2)", [role, T]))).toBe("JF002");
  });

  test("a member of a bound role is bound, at any distance, and SET ROLE does not change that", async ({
    db,
  }) => {
    await populate(db);
    const group = await boundGroup(db, T, "jobforge_worker", "jobforge_app");
    const team = await db.createLogin(group);
    const member = await login(db, team.role);
    await set(member, "app.tenant_id", U);
    for (const role of ["none", team.role, group, "jobforge_worker", "jobforge_app"]) {
      await member.query(`set role ${role}`);
      if (role !== "jobforge_worker") expect(await seen(member), role).toEqual(only(T));
      expect(await outcome(member.query(enqueue, [U])), role).toBe("42501");
    }
    await member.query("set role none");
    expect(await member.query(claim)).toEqual([{ tenant_id: T }]);
  });

  test("a member of a bound role that inherits nothing is bound after SET ROLE", async ({ db }) => {
    await populate(db);
    const group = await boundGroup(db, T, "jobforge_worker");
    const { role, url } = await db.createLogin();
    await db.query(`alter role ${role} noinherit`);
    await db.query(`grant ${group} to ${role}`);
    const member = await db.connect(url);
    expect(await outcome(member.query(claim))).toBe("42501");
    await member.query("set role jobforge_worker");
    expect(await member.query(claim)).toEqual([{ tenant_id: T }]);
  });

  test("a member of roles of two tenants acts for neither, until it sets one of them", async ({ db }) => {
    await populate(db);
    const groups = [await boundGroup(db, T, "jobforge_worker"), await boundGroup(db, U, "jobforge_worker")];
    const member = await login(db, ...groups);
    expect(await outcome(member.query(claim))).toBe("42501");
    await member.query("set role jobforge_worker");
    expect(await outcome(member.query(claim))).toBe("42501");
    await member.query(`set role ${groups[1]}`);
    expect(await member.query(claim)).toEqual([{ tenant_id: U }]);
  });

  test("the binding of the login comes before those of its roles", async ({ db }) => {
    await populate(db);
    const group = await boundGroup(db, U, "jobforge_tenant");
    const member = await boundLogin(db, T, group);
    for (const role of ["none", group]) {
      await member.query(`set role ${role}`);
      expect(await seen(member)).toEqual(only(T));
    }
  });

  test("who created a bound role, and can neither use nor set it, is not bound", async ({ db }) => {
    const admin = await db.createLogin("jobforge_operator");
    await db.query(`alter role ${admin.role} createrole`);
    const operator = await db.connect(admin.url);
    const { role } = await db.createLogin();
    await db.query(`drop role ${role}`);
    await operator.query(`create role ${role} login`);
    await operator.query("select jobforge_bind_role($1, $2)", [role, T]);
    expect(await outcome(operator.query("select jobforge_set_policy('mail', '{}')"))).toBe("accepted");
    await db.query(`drop role ${role}`);
  });

  test("a bound role that is renamed is refused until it is bound again", async ({ db }) => {
    await populate(db);
    const { role, url } = await db.createLogin("jobforge_worker");
    await db.query("select jobforge_bind_role($1, $2)", [role, T]);
    const worker = await db.connect(url);
    await db.query(`alter role ${role} rename to ${role}_2`);
    for (const set of ["none", "jobforge_worker"]) {
      await worker.query(`set role ${set}`);
      expect(await outcome(worker.query(claim))).toBe("42501");
    }
    expect(await stale(db)).toEqual([role]);
    await db.query("select jobforge_bind_role($1, $2)", [`${role}_2`, T]);
    expect(await worker.query(claim)).toEqual([{ tenant_id: T }]);
    expect(await stale(db)).toEqual([]);
    await db.query(`alter role ${role}_2 rename to ${role}`);
  });

  test("a role with the name of a bound role that was dropped is refused, until it is bound or unbound", async ({
    db,
  }) => {
    await populate(db);
    const { role, url } = await db.createLogin("jobforge_worker");
    await db.query("select jobforge_bind_role($1, $2)", [role, T]);
    await db.query(`drop role ${role}`);
    expect(await stale(db)).toEqual([role]);
    await db.query(`create role ${role} login password '${new URL(url).password}' in role jobforge_worker`);
    const again = await db.connect(url);
    expect(await outcome(again.query(claim))).toBe("42501");
    await db.query("select jobforge_bind_role($1, $2)", [role, U]);
    expect(await again.query(claim)).toEqual([{ tenant_id: U }]);
  });

  test("a binding of a role that no longer exists is removed by unbinding", async ({ db }) => {
    const { role } = await db.createLogin();
    await db.query("select jobforge_bind_role($1, $2)", [role, T]);
    await db.query(`drop role ${role}`);
    await db.query("select jobforge_bind_role($1, null)", [role]);
    expect(await stale(db)).toEqual([]);
    expect(await outcome(db.query("select jobforge_bind_role($1, null)", [role]))).toBe("JF002");
  });

  test("a restored binding whose id is that of another role binds neither role", async ({ db }) => {
    await populate(db);
    const [named, other] = [await db.createLogin("jobforge_worker"), await db.createLogin("jobforge_worker")];
    await db.query(
      `insert into jobforge.role_bindings (role_id, role, tenant_id, bound_at, bound_by)
       values ($1::regrole, $2, $3, now(), 'a dump')`,
      [other.role, named.role, T],
    );
    for (const { url } of [named, other]) {
      const worker = await db.connect(url);
      expect(await outcome(worker.query(claim))).toBe("42501");
    }
  });
});

describe("with ten thousand bindings", () => {
  test.for([null, T])("a call reads hardly more pages than with one, bound to %s", async (tenant, { db }) => {
    const { role, url } = await db.createLogin("jobforge_worker");
    await boundLogin(db, U, "jobforge_worker");
    if (tenant !== null) await db.query("select jobforge_bind_role($1, $2)", [role, tenant]);
    const pagesOfClaim = async (): Promise<number> => {
      await using worker = await db.connect(url);
      const explained =
        "explain (analyze, buffers, format json) select jobforge_claim_jobs('w', 1, '{none}')";
      // Other tests create roles in the same server, after which every session reads pages of the catalogs again.
      const pages: number[] = [];
      for (let call = 0; call < 5; call += 1) {
        const [plan] = (await worker.value<[{ Plan: Record<string, number> }]>(explained)) ?? [];
        pages.push(plan?.Plan["Shared Hit Blocks"] ?? Number.NaN);
      }
      return Math.min(...pages);
    };
    const before = await pagesOfClaim();
    await db.query(
      `insert into jobforge.role_bindings (role_id, role, tenant_id, bound_at, bound_by)
       select 1000000 + n, 'r' || n, gen_random_uuid(), now(), 'test' from generate_series(1, 10000) n`,
    );
    expect((await pagesOfClaim()) - before).toBeLessThan(40);
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
