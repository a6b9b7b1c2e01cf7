/**
 * Code of others never runs in a migration, in a view or in a function, even where any role may create objects in the
 * API schema and in schemas that come first in the search path.
 */
import { migrate, migrationScript, migrationStatus, schemaDrift } from "@jobforge/sql";
import type { TestConnection, TestDatabase } from "@jobforge/testing";
import { describe, expect } from "vitest";
import { plantTraps } from "../../../test/planting.ts";
import { outcome, refusal } from "../support/failures.ts";
import { enqueue, T } from "../support/kernel.ts";
import { outdate, test } from "../support/migrations.ts";

/** A login without any role of JobForge that may create objects in public. */
async function stranger(db: TestDatabase): Promise<TestConnection & { readonly role: string }> {
  const { role, url } = await db.createLogin();
  await db.query(`grant create on schema public to ${role}`);
  return { role, ...(await db.connect(url)) };
}

describe("with traps in place of every name that JobForge's statements use", () => {
  test("the traps catch statements that leave the schema to the search path", async ({ db }) => {
    const traps = await plantTraps(db);
    expect(traps.planted.function).toBeGreaterThan(500);
    expect(traps.planted.operator).toBeGreaterThan(300);
    expect(traps.planted.type).toBeGreaterThan(20);
    expect(traps.planted.relation).toBeGreaterThan(40);
    const connection = await db.connect();
    for (const [statement, caught] of [
      ["select to_json('{}'::pg_catalog.jsonb)", "function to_json"],
      ["select json_agg(1)", "function json_agg"],
      ["select 1 = 2", "operator ="],
      ["select nullif('a', 'b')", "operator ="],
      ["select 'a'::text", "type text"],
      ["select from pg_class", "relation pg_class"],
      ["select from queue", "relation queue"],
    ] as const) {
      expect(await outcome(connection.query(statement)), statement).toBe("P0001");
      expect(await traps.caught()).toBe(caught);
    }
  });

  test("a first migration, a status, a refresh and a comparison run into none", async ({ empty }) => {
    const traps = await plantTraps(empty);
    const { client } = await empty.connect();
    const before = (await client.query("show search_path")).rows;
    await migrate({ database: client });
    // Now there are more names, which statements on an installed database use.
    await empty.query("drop schema trap, planted cascade");
    const again = await plantTraps(empty);
    expect(await migrationStatus({ database: client })).toMatchObject({ upToDate: true });
    await outdate(empty);
    expect(await migrate({ database: client })).toMatchObject({ refreshed: true });
    expect(await schemaDrift(client, "public")).toEqual({ missing: [], unexpected: [] });
    expect([await traps.caught(), await again.caught()]).toEqual([undefined, undefined]);
    expect((await client.query("show search_path")).rows).toEqual(before);
  });

  test("the printed script of a first migration runs into none", async ({ empty }) => {
    const traps = await plantTraps(empty);
    await (await empty.connect()).query(migrationScript("elsewhere"));
    expect(await traps.caught()).toBeUndefined();
    expect(await migrationStatus({ database: empty.url })).toMatchObject({ upToDate: true });
  });

  test("reading views and maintaining tables runs into none", async ({ db }) => {
    await enqueue(db, { tags: ["x"] });
    await db.query("select * from jobforge_claim_jobs('w')");
    await db.query(
      "select jobforge_settle_jobs('w', (select jsonb_agg(jsonb_build_object('id', id, 'attempt', 1, 'status', 'succeeded')) from jobforge_jobs))",
    );
    await db.query("select jobforge_ensure_schedule($1, 's', 'k', '{\"every\": \"1 hour\"}')", [T]);
    await db.query("select jobforge_maintain()");
    const views = await db.query<{ name: string }>(
      "select relname as name from pg_class where relkind = 'v' and relnamespace = 'public'::regnamespace",
    );
    const traps = await plantTraps(db);
    const operator = await db.connect((await db.createLogin("jobforge_operator")).url);
    const tenant = await db.createLogin("jobforge_tenant");
    await db.query("select jobforge_bind_role($1, $2)", [tenant.role, T]);
    const bound = await db.connect(tenant.url);
    for (const { name } of views)
      for (const reader of [operator, bound]) await reader.query(`select * from public.${name}`);
    const owner = await db.connect();
    await owner.query("analyze");
    await owner.query("reindex schema jobforge");
    expect(await traps.caught()).toBeUndefined();
  });
});

describe("a login that may create objects in the API schema", () => {
  test("does not become superuser by the next migration", async ({ db }) => {
    const attacker = await stranger(db);
    await attacker.query(`
      create function public.pg_get_viewdef(v regclass) returns text language plpgsql as $$
      begin
        perform pg_catalog.set_config('role', 'none', false);
        execute 'alter role ${attacker.role} superuser';
        return pg_catalog.pg_get_viewdef(v::oid);
      end $$`);
    await outdate(db);
    await migrate({ database: db.url });
    expect(await db.value("select rolsuper from pg_roles where rolname = $1", [attacker.role])).toBe(false);
  });

  test("gets nothing from an operator who reads a view", async ({ db }) => {
    await db.query(
      `insert into jobforge.usage
       select (jsonb_populate_record(null::jobforge.usage, jsonb_build_object('tenant_id', $1::text, 'type', 'a',
         'hour', '2026-01-01', 'wait_histogram', '{0,1}'::int[], 'run_histogram', '{0,1}'::int[])
         || (select jsonb_object_agg(attname, 0) from pg_attribute
             where attrelid = 'jobforge.usage'::regclass and atttypid in ('int4'::regtype, 'int8'::regtype)))).*`,
      [T],
    );
    const attacker = await stranger(db);
    await attacker.query(`
      create function public.power(a integer, b numeric) returns numeric language plpgsql as $$
      begin raise exception 'stolen'; end $$`);
    const operator = await db.connect((await db.createLogin("jobforge_operator")).url);
    expect(await operator.value("select sum(run_p95_ms)::int from jobforge_usage")).toBeGreaterThanOrEqual(0);
  });

  test.for([
    "create function public.jobforge_enqueue_job(p_tenant_id text, p_type text) returns int language sql as 'select 1'",
    "create function public.jobforge_stats(p_tenant_id uuid) returns int language sql as 'select 1'",
    "create aggregate public.jobforge_list_jobs(int) (sfunc = int4pl, stype = int)",
  ])("cannot offer a function by the name of JobForge's to a migration: %s", async (create, { db }) => {
    const attacker = await stranger(db);
    await attacker.query(create);
    const error = await refusal(migrate({ database: db.url }));
    expect(error.code).toBe("foreign_objects");
    expect(error.message).toContain(attacker.role);
    expect(error.hint).toContain("an API schema of its own");
  });

  test("cannot take the name of a view before the first migration", async ({ empty }) => {
    const attacker = await stranger(empty);
    await attacker.query("create table public.jobforge_jobs (id int)");
    expect(await refusal(migrate({ database: empty.url }))).toMatchObject({ code: "foreign_objects" });
    await attacker.query("drop table public.jobforge_jobs; create table public.jobforge_other (id int)");
    expect(await migrate({ database: empty.url })).toMatchObject({ refreshed: true });
  });
});

test("the private schema of another role is refused", async ({ empty }) => {
  const { role, url } = await empty.createLogin();
  await empty.query(`grant create on database ${empty.name} to ${role}`);
  await (await empty.connect(url)).query("create schema jobforge");
  const error = await refusal(migrate({ database: empty.url }));
  expect(error).toMatchObject({
    code: "foreign_objects",
    message: expect.stringContaining("The schema jobforge"),
  });
});

describe("in the catalog", () => {
  test("every function that others may execute is pinned or has its names bound", async ({ db }) => {
    const pinned = [
      ...["search_path=jobforge, pg_temp", "TimeZone=UTC", "DateStyle=ISO, MDY", "IntervalStyle=postgres"],
      ...["extra_float_digits=1", "standard_conforming_strings=on", "quote_all_identifiers=off"],
      "gin_fuzzy_search_limit=0",
    ];
    const open = await db.query(
      `select p.oid::regprocedure::text as name, p.proconfig as settings
       from pg_proc p
       where (p.pronamespace = 'jobforge'::regnamespace or p.proname like 'jobforge\\_%')
         and exists (
           select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) x where x.grantee <> p.proowner)
         and p.prosqlbody is null
         and not coalesce(p.proconfig, '{}') @> $1`,
      [pinned],
    );
    expect(open).toEqual([]);
  });

  test("every function that an index, a constraint, a default or a policy uses is one of those, or bound", async ({
    db,
  }) => {
    // A role that writes to a table, or analyzes it, runs them.
    const loose = await db.query(
      `select distinct p.oid::regprocedure::text as name
       from pg_depend d
       join pg_proc p on p.oid = d.refobjid
       where d.refclassid = 'pg_proc'::regclass
         and d.classid in ('pg_class'::regclass, 'pg_constraint'::regclass, 'pg_policy'::regclass, 'pg_rewrite'::regclass)
         and p.pronamespace = 'jobforge'::regnamespace
         and p.prosqlbody is null and p.proconfig is null`,
    );
    expect(loose).toEqual([]);
  });

  test("views, policies, indexes, constraints and bound functions refer to the system and to JobForge only", async ({
    db,
  }) => {
    const foreign = await db.query(
      `select distinct d.classid::regclass::text as by, d.refclassid::regclass::text as kind, d.refobjid
       from pg_depend d
       left join pg_proc p on d.refclassid = 'pg_proc'::regclass and p.oid = d.refobjid
       left join pg_operator o on d.refclassid = 'pg_operator'::regclass and o.oid = d.refobjid
       left join pg_type t on d.refclassid = 'pg_type'::regclass and t.oid = d.refobjid
       where d.classid in ('pg_class'::regclass, 'pg_constraint'::regclass, 'pg_policy'::regclass,
           'pg_rewrite'::regclass, 'pg_attrdef'::regclass, 'pg_proc'::regclass)
         and coalesce(p.pronamespace, o.oprnamespace, t.typnamespace)
           not in ('pg_catalog'::regnamespace, 'jobforge'::regnamespace, 'public'::regnamespace, 'information_schema'::regnamespace, 'pg_toast'::regnamespace)`,
    );
    expect(foreign).toEqual([]);
  });
});
