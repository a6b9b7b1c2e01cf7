/** Owners, security settings and memberships of the kernel's objects and roles, read from the catalog. */
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { clientRoles } from "../support/tenants.ts";

describe("the kernel's objects", () => {
  test("every API function is a security definer function of jobforge_owner, and fixes a search_path that ends in pg_temp", async ({
    db,
  }) => {
    const functions = await db.query<{ name: string; definer: boolean; owner: string; path: string | null }>(
      `select p.proname as name, p.prosecdef as definer, p.proowner::regrole::text as owner,
         (select substr(s, 13) from unnest(p.proconfig) s where s like 'search\\_path=%') as path
       from pg_proc p
       where p.proname like 'jobforge\\_%' and p.pronamespace = 'public'::regnamespace`,
    );
    expect(functions.length).toBeGreaterThanOrEqual(9);
    for (const { name, definer, owner, path } of functions) {
      expect({ definer, owner }, name).toEqual({ definer: true, owner: "jobforge_owner" });
      expect(path, name).toMatch(/^(pg_catalog, )?jobforge,( pg_catalog,)? pg_temp$/);
    }
  });

  test("there is one function per name", async ({ db }) => {
    expect(
      await db.query(
        "select proname from pg_proc where proname like 'jobforge\\_%' group by 1 having count(*) > 1",
      ),
    ).toEqual([]);
  });

  test("every private security definer function fixes its search_path too", async ({ db }) => {
    expect(
      await db.query(
        `select p.proname from pg_proc p
         where p.pronamespace = 'jobforge'::regnamespace and p.prosecdef
           and not exists (select from unnest(p.proconfig) s where s like 'search\\_path=%pg_temp')`,
      ),
    ).toEqual([]);
  });

  test("every private object belongs to jobforge_owner, and every API view to jobforge_view", async ({
    db,
  }) => {
    expect(
      await db.query(
        `select c.oid::regclass::text as relation, c.relowner::regrole::text as owner
         from pg_class c
         where (c.relnamespace = 'public'::regnamespace and c.relname like 'jobforge\\_%' and c.relowner <> 'jobforge_view'::regrole)
           or (c.relnamespace = 'jobforge'::regnamespace and c.relkind in ('r', 'p', 'S') and c.relowner <> 'jobforge_owner'::regrole)`,
      ),
    ).toEqual([]);
    expect(
      await db.query(
        "select proname from pg_proc where pronamespace = 'jobforge'::regnamespace and proowner <> 'jobforge_owner'::regrole",
      ),
    ).toEqual([]);
  });

  test("every table has row security, and its only policy lets jobforge_view read", async ({ db }) => {
    expect(
      await db.query(
        "select relname from pg_class where relnamespace = 'jobforge'::regnamespace and relkind in ('r', 'p') and not relrowsecurity",
      ),
    ).toEqual([]);
    const policies = await db.query(
      "select distinct cmd, roles::text, permissive, with_check from pg_policies where schemaname = 'jobforge'",
    );
    expect(policies).toEqual([
      { cmd: "SELECT", roles: "{jobforge_view}", permissive: "PERMISSIVE", with_check: null },
    ]);
  });

  test("tables that maintenance creates later belong to jobforge_owner and have row security too", async ({
    db,
  }) => {
    const tables = `select count(*)::int as all, count(*) filter (where relrowsecurity and relowner = 'jobforge_owner'::regrole)::int as good
      from pg_class where relnamespace = 'jobforge'::regnamespace and relkind in ('r', 'p')`;
    const [before] = await db.query<{ all: number; good: number }>(tables);
    await db.travel("400 days");
    await db.query("select jobforge_maintain()");
    const [after] = await db.query<{ all: number; good: number }>(tables);
    expect(after).not.toEqual(before);
    expect(after?.good).toBe(after?.all);
  });

  test("the roles cannot log in, bypass row security or create roles, and are members of each other only as designed", async ({
    db,
  }) => {
    const roles = ["jobforge_owner", "jobforge_view", ...clientRoles];
    expect(
      await db.query(
        `select rolname from pg_roles
         where rolname = any ($1) and (rolcanlogin or rolbypassrls or rolsuper or rolcreaterole or rolcreatedb or rolreplication)`,
        [roles],
      ),
    ).toEqual([]);
    expect(
      await db.query(
        `select distinct m.member::regrole::text as member, m.roleid::regrole::text as has
         from pg_auth_members m
         where m.member::regrole::text = any ($1)
         order by 1`,
        [roles],
      ),
    ).toEqual([
      { member: "jobforge_app", has: "jobforge_tenant" },
      { member: "jobforge_owner", has: "jobforge_view" },
    ]);
  });
});
