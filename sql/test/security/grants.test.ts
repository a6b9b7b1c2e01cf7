/** All rights on JobForge's objects, read from the catalog. A right that is not listed here must not exist. */
import { migrate } from "@jobforge/sql";
import type { Row, TestDatabase } from "@jobforge/testing";
import { describe, expect } from "vitest";
import { refresh, test } from "../support/migrations.ts";
import { clientRoles } from "../support/tenants.ts";

/** The rights on JobForge's objects that roles other than the owner have, read without the kernel's functions. */
async function rights(db: TestDatabase, apiSchema: string): Promise<(Row & Right)[]> {
  return await db.query<Row & Right>(
    `with objects as (
       select 'schema' as kind, n.nspname::text as object, n.nspowner as owner, coalesce(n.nspacl, acldefault('n', n.nspowner)) as acl
       from pg_namespace n where n.nspname = 'jobforge' or (n.nspname = $1 and $1 <> 'public')
       union all
       select 'function', p.proname, p.proowner, coalesce(p.proacl, acldefault('f', p.proowner))
       from pg_proc p
       where p.pronamespace = 'jobforge'::regnamespace
         or (p.pronamespace = to_regnamespace(quote_ident($1)) and p.proname like 'jobforge\\_%')
       union all
       select case c.relkind when 'v' then 'view' when 'S' then 'sequence' else 'table' end, c.relname, c.relowner,
         coalesce(c.relacl, acldefault(case c.relkind when 'S' then 's' else 'r' end::"char", c.relowner))
       from pg_class c
       where c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
         and (c.relnamespace = 'jobforge'::regnamespace
           or (c.relnamespace = to_regnamespace(quote_ident($1)) and c.relname like 'jobforge\\_%'))
       union all
       select 'column', c.relname || '.' || a.attname, c.relowner, a.attacl
       from pg_attribute a
       join pg_class c on c.oid = a.attrelid
       where a.attacl is not null
         and (c.relnamespace = 'jobforge'::regnamespace
           or (c.relnamespace = to_regnamespace(quote_ident($1)) and c.relname like 'jobforge\\_%'))
     )
     select o.kind, o.object, case x.grantee when 0 then 'public' else pg_get_userbyid(x.grantee)::text end as grantee,
       x.privilege_type as privilege, x.is_grantable as grantable
     from objects o, aclexplode(o.acl) x
     where x.grantee <> o.owner
     order by 1, 2, 3, 4`,
    [apiSchema],
  );
}

interface Right {
  readonly kind: "schema" | "function" | "view" | "table" | "sequence" | "column";
  readonly object: string;
  readonly grantee: string;
  readonly privilege: string;
  readonly grantable: boolean;
}

/** Whether an installation is meant to grant this right. */
function isIntended({ kind, object, grantee, privilege, grantable }: Right): boolean {
  if (grantable) return false;
  const isApi = object.startsWith("jobforge_");
  switch (kind) {
    case "schema":
      if (privilege !== "USAGE") return false;
      return object === "jobforge"
        ? grantee === "jobforge_view"
        : [...clientRoles, "jobforge_owner", "jobforge_view"].includes(grantee);
    case "function":
      if (privilege !== "EXECUTE") return false;
      if (isApi) return clientRoles.includes(grantee);
      return (
        ["visible_from", "visible_to", "trace_id", "folded", "percentile"].includes(object) &&
        clientRoles.includes(grantee)
      );
    case "view":
      return privilege === "SELECT" && (isApi ? clientRoles.includes(grantee) : grantee === "jobforge_view");
    case "table":
      return privilege === "SELECT" && grantee === "jobforge_view";
    default:
      return false;
  }
}

describe("the list of grants", () => {
  test("equals the rights that are granted, object by object", async ({ db }) => {
    const objects = await db.query<{ name: string; wanted: string[]; granted: string[] }>(
      "select name, wanted, granted from jobforge.grants('public')",
    );
    expect(objects.length).toBeGreaterThan(50);
    for (const { name, wanted, granted } of objects)
      expect([...granted].sort(), name).toEqual([...wanted].sort());
  });

  test("names only objects that exist", async ({ db }) => {
    expect(
      await db.query(
        "select object from jobforge.rights() except select object from jobforge.grants('public')",
      ),
    ).toEqual([]);
  });

  test.for(["public", "jobs_api"])(
    "leaves nothing else open, with the API in %s",
    async (apiSchema, { empty }) => {
      await migrate({ database: empty.url, apiSchema });
      const found = await rights(empty, apiSchema);
      expect(found.length).toBeGreaterThan(20);
      expect(found.filter((right) => !isIntended(right))).toEqual([]);
    },
  );

  test("is restored by a refresh after rights were granted and revoked by hand", async ({ db }) => {
    const before = await rights(db, "public");
    await db.query("grant all on jobforge_jobs, jobforge.queue to jobforge_reader, public");
    await db.query("grant select on jobforge_jobs to jobforge_worker with grant option");
    await db.query("grant insert on jobforge_audit_log to jobforge_tenant");
    await db.query("grant execute on function jobforge_set_policy(text, jsonb) to public");
    await db.query("revoke select on jobforge_jobs from jobforge_tenant");
    expect(await rights(db, "public")).not.toEqual(before);
    await refresh(db);
    expect(await rights(db, "public")).toEqual(before);
  });

  test("separates the duties of the roles", async ({ db }) => {
    const refused: readonly (readonly [role: string, functions: readonly string[]])[] = [
      [
        "jobforge_app",
        [
          "claim_jobs",
          "heartbeat_job",
          "heartbeat_worker",
          "complete_job",
          "settle_jobs",
          "set_policy",
          "set_gate",
          "set_limit",
          "set_tenant",
          "bind_role",
          "maintain",
          "search_jobs",
        ],
      ],
      [
        "jobforge_worker",
        [
          "cancel_job",
          "reschedule_job",
          "set_policy",
          "set_gate",
          "set_limit",
          "set_tenant",
          "bind_role",
          "search_jobs",
        ],
      ],
      [
        "jobforge_reader",
        [
          "enqueue_job",
          "enqueue_jobs",
          "claim_jobs",
          "complete_job",
          "cancel_job",
          "list_jobs",
          "get_job",
          "set_policy",
          "set_gate",
          "bind_role",
        ],
      ],
    ];
    for (const [role, functions] of refused) {
      expect(
        await db.query(
          `select p.proname from pg_proc p
           where p.proname = any ($2) and has_function_privilege($1, p.oid, 'execute')`,
          [role, functions.map((name) => `jobforge_${name}`)],
        ),
        role,
      ).toEqual([]);
    }
  });
});

describe("default privileges that open everything", () => {
  const kinds = ["tables", "functions", "sequences"] as const;

  async function openEverything(db: TestDatabase): Promise<string[]> {
    const strangers: string[] = [];
    // Supabase's anon, authenticated and service_role.
    for (let i = 0; i < 3; i++) strangers.push((await db.createLogin()).role);
    for (const creator of ["", "for role jobforge_owner", "for role jobforge_view"]) {
      for (const kind of kinds) {
        const grant = `grant all on ${kind} to ${strangers.join(", ")}`;
        await db.query(`alter default privileges ${creator} in schema public ${grant}`);
        await db.query(`alter default privileges ${creator} ${grant}`);
      }
      await db.query(`alter default privileges ${creator} grant all on schemas to ${strangers.join(", ")}`);
    }
    return strangers;
  }

  async function openTo(db: TestDatabase, strangers: string[]): Promise<Row[]> {
    return await db.query(
      `with kernel as (select oid from pg_namespace where nspname in ('jobforge', 'public'))
       select s.role, o.name
       from unnest($1::text[]) s(role)
       cross join lateral (
         select p.oid::regprocedure::text
         from pg_proc p
         where p.pronamespace in (select oid from kernel) and has_function_privilege(s.role, p.oid, 'execute')
         union all
         select c.oid::regclass::text
         from pg_class c
         where c.relnamespace in (select oid from kernel) and c.relkind in ('r', 'p', 'v')
           and has_table_privilege(s.role, c.oid, 'select, insert, update, delete, truncate, references, trigger')
         union all
         select c.oid::regclass::text
         from pg_class c
         where c.relnamespace in (select oid from kernel) and c.relkind = 'S'
           and has_sequence_privilege(s.role, c.oid, 'usage, select, update')
         union all
         select 'schema jobforge'
         from pg_namespace n
         where n.nspname = 'jobforge' and has_schema_privilege(s.role, n.oid, 'usage, create')
       ) o(name)`,
      [strangers],
    );
  }

  test("give strangers no right on a new installation", async ({ empty }) => {
    const strangers = await openEverything(empty);
    // They do open other objects, so this test can fail.
    await empty.query("create table public.opened ()");
    expect((await openTo(empty, strangers)).map((row) => row["name"])).toEqual(strangers.map(() => "opened"));
    await empty.query("drop table public.opened");
    await migrate({ database: empty.url });
    expect(await openTo(empty, strangers)).toEqual([]);
    expect((await rights(empty, "public")).filter((right) => !isIntended(right))).toEqual([]);
  });

  test("give strangers no right after a refresh", async ({ db }) => {
    const strangers = await openEverything(db);
    await db.query("drop view jobforge_connector_configs");
    await refresh(db);
    expect(await db.value("select to_regclass('public.jobforge_connector_configs') is not null")).toBe(true);
    expect(await openTo(db, strangers)).toEqual([]);
  });

  test("give strangers no right on tables that maintenance creates later", async ({ db }) => {
    const strangers = await openEverything(db);
    await db.travel("400 days");
    await db.query("select jobforge_maintain()");
    expect(await openTo(db, strangers)).toEqual([]);
  });
});
