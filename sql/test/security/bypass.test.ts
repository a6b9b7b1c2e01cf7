/** Attempts to get around the functions: a hostile search_path, direct access to tables, and a moved clock. */
import type { TestConnection } from "@jobforge/testing";
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { outcome } from "../support/failures.ts";
import { boundLogin, clientRoles, login, only, populate, seen, set, T, U } from "../support/tenants.ts";
import { tenantViews } from "../support/views.ts";

describe("a hostile search_path", () => {
  /** Creates objects with the names of the kernel's objects and of system functions that the kernel uses. */
  async function plant(connection: TestConnection, schema: string): Promise<void> {
    const fakes: readonly (readonly [signature: string, returns: string, body: string])[] = [
      ["current_setting(text)", "text", "'jobforge_operator'"],
      ["current_setting(text, boolean)", "text", `'${U}'`],
      ["pg_has_role(text, text, text)", "boolean", "true"],
      ["caller()", "text", "'jobforge_operator'"],
      ["caller_is(text)", "boolean", "true"],
      ["caller_tenant()", "uuid", `'${U}'::uuid`],
      ["bound_tenant()", "uuid", `'${U}'::uuid`],
      ["visible_from()", "uuid", "'00000000-0000-0000-0000-000000000000'::uuid"],
      ["visible_to()", "uuid", "'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid"],
      ["require_tenant(uuid)", "void", "null::void"],
      ["require_operator()", "void", "null::void"],
      ["now()", "timestamptz", "'2000-01-01'::timestamptz"],
      ["clock_timestamp()", "timestamptz", "'2000-01-01'::timestamptz"],
      ["uuid_equal(uuid, uuid)", "boolean", "true"],
    ];
    for (const [signature, returns, body] of fakes) {
      await connection.query(
        `create function ${schema}.${signature} returns ${returns} language sql as $$ select ${body} $$`,
      );
    }
    await connection.query(
      `create operator ${schema}.= (leftarg = uuid, rightarg = uuid, function = ${schema}.uuid_equal)`,
    );
    for (const table of [
      "queue",
      "runs",
      "archive",
      "payloads",
      "policies",
      "audit_log",
      "live_jobs",
      "all_jobs",
      "role_bindings",
    ]) {
      await connection.query(`create table ${schema}.${table} (role_id oid, role text, tenant_id uuid)`);
    }
    await connection.query(
      `insert into ${schema}.role_bindings select oid, rolname, '${U}'
       from pg_catalog.pg_roles where rolname in (session_user, 'jobforge_operator')`,
    );
  }

  test.for<readonly [where: string, schema: string, path: string]>([
    ["a schema of its own, before the system's", "hostile", "hostile, pg_catalog, public"],
    ["a schema of its own", "hostile", "hostile, public"],
    ["the temporary schema", "pg_temp", "pg_temp, pg_catalog, public"],
  ])("with false objects in %s changes nothing", async ([, schema, path], { db }) => {
    const { u } = await populate(db);
    const { role, url } = await db.createLogin("jobforge_tenant");
    await db.query("select jobforge_bind_role($1, $2)", [role, T]);
    await db.query(`create schema hostile authorization ${role}`);
    const tenant = await db.connect(url);
    await plant(tenant, schema);
    await set(tenant, "search_path", path);
    expect(await seen(tenant)).toEqual(only(T));
    const job = await tenant.value<{ tenant_id: string; run_at: string; id: string }>(
      "select public.jobforge_enqueue_job($1, 'mail')",
      [T],
    );
    expect(job.tenant_id).toBe(T);
    expect(new Date(job.run_at).getFullYear()).toBeGreaterThan(2000);
    expect(await outcome(tenant.query("select public.jobforge_enqueue_job($1, 'mail')", [U]))).toBe("42501");
    expect(await outcome(tenant.query("select public.jobforge_list_jobs($1)", [U]))).toBe("42501");
    expect(await outcome(tenant.query("select public.jobforge_cancel_job($1, $2)", [u.queued, T]))).toBe(
      "JF005",
    );
    await tenant.query("select public.jobforge_cancel_job($1, $2)", [job.id, T]);
    expect(await db.value("select status from jobforge_jobs where id = $1", [job.id])).toBe("canceled");
  });
});

describe("clients that go past the functions", () => {
  test("cannot write to any view or table", async ({ db }) => {
    await populate(db);
    const relations = await db.query<{ relation: string; first: string }>(
      `select format('%I.%I', n.nspname, c.relname) as relation, quote_ident(a.attname) as first
       from pg_class c
       join pg_namespace n on n.oid = c.relnamespace
       join pg_attribute a on a.attrelid = c.oid and a.attnum = 1
       where c.relkind in ('r', 'p', 'v')
         and (n.nspname = 'jobforge' or (n.nspname = 'public' and c.relname like 'jobforge\\_%'))`,
    );
    expect(relations.length).toBeGreaterThan(20);
    for (const granted of clientRoles) {
      const client = await login(db, granted);
      await set(client, "app.tenant_id", T);
      for (const { relation, first } of relations) {
        const writes = [
          `insert into ${relation} default values`,
          `update ${relation} set ${first} = ${first}`,
          `delete from ${relation}`,
          `select from ${relation} for update`,
          `do 'begin lock table ${relation}; end'`,
          `truncate ${relation}`,
        ];
        // Some views are not updatable, some have an identity, and no view can be truncated. Postgres reports that
        // before it checks rights.
        const refused = relation.startsWith("jobforge.") ? /^42501$/ : /^(42501|55000|42809|428C9)$/;
        for (const write of writes)
          expect(await outcome(client.query(write)), `${granted}: ${write}`).toMatch(refused);
      }
    }
  });

  test("cannot read the tables or call the private functions of the kernel", async ({ db }) => {
    await populate(db);
    const tables = await db.query<{ name: string }>(
      "select format('jobforge.%I', c.relname) as name from pg_class c where c.relnamespace = 'jobforge'::regnamespace and c.relkind in ('r', 'p', 'v')",
    );
    for (const granted of clientRoles) {
      const client = await login(db, granted);
      await set(client, "app.tenant_id", T);
      for (const { name } of tables) {
        expect(await outcome(client.query(`select from ${name}`)), `${granted}: ${name}`).toBe("42501");
      }
      for (const call of [
        "caller_tenant()",
        "visible_from()",
        "now()",
        "allow_time_travel(true)",
        `audit('${T}', 'X', null)`,
      ]) {
        expect(await outcome(client.query(`select jobforge.${call}`)), `${granted}: ${call}`).toBe("42501");
      }
    }
  });

  test("cannot move the kernel's clock where time travel is not allowed", async ({ db }) => {
    await db.query("select jobforge.allow_time_travel(false)");
    const tenant = await boundLogin(db, T, "jobforge_tenant");
    await tenant.travel("1000 years");
    const job = await tenant.value<{ created_at: string }>("select jobforge_enqueue_job($1, 'mail')", [T]);
    expect(new Date(job.created_at).getFullYear()).toBeLessThan(3000);
  });

  test("with jobforge_reader cannot see any job, payload or result", async ({ db }) => {
    await populate(db);
    const reader = await login(db, "jobforge_reader");
    await set(reader, "app.tenant_id", T);
    for (const view of tenantViews) {
      expect(await outcome(reader.query(`select from ${view}`)), view).toBe("42501");
    }
    expect(await outcome(reader.query("select jobforge_list_jobs($1)", [T]))).toBe("42501");
    const columns = await db.query(
      `select c.relname, a.attname
       from pg_class c
       join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
       where c.relnamespace = 'public'::regnamespace and c.relkind = 'v' and c.relname like 'jobforge\\_%'
         and has_column_privilege('jobforge_reader', c.oid, a.attnum, 'select')
         and a.attname in ('payload', 'result', 'config', 'progress', 'error', 'last_error', 'meta', 'artifact_ref')`,
    );
    expect(columns).toEqual([]);
  });
});
