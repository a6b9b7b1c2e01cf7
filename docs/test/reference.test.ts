/** Checks that the SQL reference is complete and correct, by comparing it with the catalog of an installed JobForge. */
import { describe, expect } from "vitest";
import { test } from "../../test/database.ts";
import { firstCells, type Page, readPages, sectionOf } from "./markdown.ts";

const reference: readonly Page[] = readPages().filter((page) => page.name.startsWith("docs/reference/sql"));

function section(heading: string): string {
  const found = reference.map((page) => sectionOf(page, heading)).filter((text) => text !== undefined);
  expect(found, `sections "${heading}" in docs/reference/sql`).toHaveLength(1);
  return found[0] ?? "";
}

/** Returns the roles on the line that starts with "Who:". */
function whoMay(text: string): string[] {
  const line = text.split("\n").find((each) => each.startsWith("Who:")) ?? "";
  return [...line.matchAll(/`(jobforge_\w+)`/g)].map((match) => match[1] ?? "").sort();
}

function squeeze(text: string): string {
  return text.replaceAll(/\s+/g, " ").replaceAll("( ", "(").replaceAll(" )", ")").trim();
}

test("every function has a section with its signature and who may call it", async ({ db }) => {
  const functions = await db.query<{ name: string; signature: string; grantees: string[] }>(`
    select p.proname as name,
      format('%s(%s) returns %s', p.proname, pg_get_function_arguments(p.oid),
        regexp_replace(pg_get_function_result(p.oid), '\\mSETOF ', 'setof ')) as signature,
      array(select x.grantee::regrole::text from aclexplode(p.proacl) x where x.grantee <> p.proowner order by 1) as grantees
    from pg_proc p
    where p.pronamespace = 'public'::regnamespace and p.proname like 'jobforge\\_%'
    order by 1`);
  expect(functions.length).toBeGreaterThan(0);
  for (const { name, signature, grantees } of functions) {
    const text = section(name);
    const written = /^```text\n([\s\S]*?)^```$/m.exec(text)?.[1] ?? "";
    expect(squeeze(written), name).toBe(squeeze(plain(signature)));
    expect(whoMay(text), `who may call ${name}`).toEqual(grantees);
    expect(text, `${name} has a sample`).toMatch(/^```sql/m);
    // Every parameter must also be explained outside the signature.
    const explained = text.replace(written, "");
    for (const [parameter] of signature.matchAll(/\bp_\w+/g))
      expect(explained, `${name}: ${parameter} is explained`).toContain(`\`${parameter}\``);
  }
});

/** Writes a signature of the catalog in the style of the reference: `p_limit integer = 10`. */
function plain(signature: string): string {
  return signature
    .replaceAll(/ DEFAULT ('[^']*'|[^,)]+?)(::[a-z ]+(\[\])?)?(?=[,)])/g, " = $1")
    .replaceAll("= NULL", "= null")
    .replaceAll("timestamp with time zone", "timestamptz")
    .replace("returns TABLE", "returns table");
}

test("every view has a section with its columns and who may read it", async ({ db }) => {
  const views = await db.query<{ name: string; columns: string[]; grantees: string[] }>(`
    select c.relname as name,
      array(select a.attname::text from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 order by a.attnum) as columns,
      array(select x.grantee::regrole::text from aclexplode(c.relacl) x where x.grantee <> c.relowner order by 1) as grantees
    from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'v' and c.relname like 'jobforge\\_%'
    order by 1`);
  expect(views.length).toBeGreaterThan(0);
  for (const { name, columns, grantees } of views) {
    const text = section(name);
    expect(firstCells(text), `the columns of ${name}`).toEqual(columns);
    expect(whoMay(text), `who may read ${name}`).toEqual(grantees);
  }
});

describe("the tables of the reference", () => {
  test("have every error code that the kernel raises", async ({ db }) => {
    const codes = await db.value<string[]>(`
      select array_agg(distinct m[1] order by m[1])
      from pg_proc p, regexp_matches(p.prosrc, '''(JF[0-9]{3}|42501)''', 'g') m
      where p.pronamespace in ('jobforge'::regnamespace, 'public'::regnamespace) and m[1] <> 'JF000'`);
    expect(firstCells(section("Errors"))).toEqual(expect.arrayContaining(codes));
  });

  test("have the keys of a policy", async ({ db }) => {
    const known = await knownKeys(db.query(`select jobforge_set_policy('mail', '{"no such key": 1}')`));
    expect(firstCells(section("Policy keys")).sort()).toEqual(known);
  });

  test("have the options of a schedule", async ({ db }) => {
    const call = `select jobforge_ensure_schedule(gen_random_uuid(), 'a', 'k', '{"no such key": 1}')`;
    expect(firstCells(section("Options")).sort()).toEqual(await knownKeys(db.query(call)));
  });

  test("have the filters of a list", async ({ db }) => {
    const known = await knownKeys(db.query(`select jobforge_search_jobs('{"no such key": 1}')`));
    expect(firstCells(section("Filters")).sort()).toEqual(known);
  });

  test("have the keys of a job in a bulk call", async ({ db }) => {
    const known = await knownKeys(
      db.query(`select jobforge_enqueue_jobs(gen_random_uuid(), '[{"no such key": 1}]')`),
    );
    const text = section("jobforge_enqueue_jobs");
    for (const key of known) expect(text).toContain(`\`${key}\``);
  });

  test("have every action that the kernel writes to the audit log", async ({ db }) => {
    const actions = await db.value<string[]>(`
      select array_agg(distinct m[1] order by m[1])
      from pg_proc p, regexp_matches(p.prosrc, '''((?:JOBS?|SCHEDULE|POLICY|GATE|ROLE|TENANT|CONNECTOR_CONFIG)_[A-Z_]+)''', 'g') m
      where p.pronamespace in ('jobforge'::regnamespace, 'public'::regnamespace)`);
    expect(firstCells(section("Audit actions"))).toEqual(expect.arrayContaining(actions));
  });

  test("have every channel", async ({ db }) => {
    const channels = await db.value<string[]>(`
      select array_agg(distinct m[1] order by m[1])
      from pg_proc p, regexp_matches(p.prosrc, 'notify\\(''(\\w+)''', 'g') m
      where p.pronamespace in ('jobforge'::regnamespace, 'public'::regnamespace)`);
    expect(firstCells(section("Channels")).sort()).toEqual(channels);
  });
});

/** Returns the keys that the hint of an error lists. */
async function knownKeys(call: Promise<unknown>): Promise<string[]> {
  const error: unknown = await call.catch((reason: unknown) => reason);
  const hint = error instanceof Error && "hint" in error ? String(error.hint) : "";
  return hint
    .replace(/^[^:]*: /, "")
    .replace(/\.$/, "")
    .split(", ")
    .sort();
}
