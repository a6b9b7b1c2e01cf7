/** The fingerprint of a tenant's data: one hash for each table. Two equal fingerprints mean that nothing changed. */
import type { TestDatabase } from "@jobforge/testing";
import pg from "pg";

export type Fingerprint = Readonly<Record<string, string>>;

/** Tables that every caller's work may change. No row in them belongs to a tenant. */
const sharedTables: ReadonlySet<string> = new Set([
  "maintenance",
  "leaves",
  "limit_rates",
  "unpark_requests",
  "watches",
]);

/** Tables whose rows maintenance sums up at any time, with what must stay the same. */
const summed: Readonly<Record<string, string>> = {
  pending_deltas: "sum(t.delta)::text",
  usage_deltas: "min(null::text)",
  usage: "min(null::text)",
};

/** Columns that work of other tenants may change: a key was used, a limit is in force, a quota was counted. */
const sharedColumns: readonly string[] = ["last_used_at", "in_force", "counted_at", "counting_since"];

/** Returns a function that computes the fingerprint of a tenant, as seen while another tenant attacks it. */
export async function fingerprinter(
  db: TestDatabase,
): Promise<(victim: string, attacker: string) => Promise<Fingerprint>> {
  const tables = await db.query<{ name: string; tenant: boolean; scope: boolean }>(
    `select c.relname as name,
       bool_or(a.attname = 'tenant_id') as tenant,
       bool_or(a.attname = 'scope' and a.atttypid = 'uuid'::regtype) as scope
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
     where c.relnamespace = 'jobforge'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
     group by c.relname order by c.relname`,
  );
  const parts = tables
    .filter(({ name }) => !sharedTables.has(name))
    .map(({ name, tenant, scope }) => {
      const table = `jobforge.${pg.escapeIdentifier(name)} t`;
      // Tables without a tenant are configuration, which belongs to all tenants. Workers belong to a scope.
      const where = tenant ? "t.tenant_id = $1::uuid" : scope ? "t.scope <> $2::uuid" : "true";
      const row = `(to_jsonb(t) - '{${sharedColumns.join()}}'::text[])::text`;
      const value = summed[name] ?? `md5(string_agg(${row}, ',' order by ${row}))`;
      return `select ${pg.escapeLiteral(name)} as name, ${value} as hash from ${table} where ${where}`;
    });
  // Runs that ended, whether they are summed up or not. No table has this name: equal names would hide one of the two.
  parts.push(
    `select 'ended runs', sum(runs)::text from (
       select t.runs from jobforge.usage t where t.tenant_id = $1::uuid
       union all select t.runs from jobforge.usage_deltas t where t.tenant_id = $1::uuid) t`,
  );
  const text = `select jsonb_object_agg(name, coalesce(hash, '')) from (${parts.join(" union all ")}) t
    where $2::uuid is not null`;
  return (victim, attacker) => db.value<Fingerprint>(text, [victim, attacker]);
}

/** Returns the names of the tables that differ. */
export function differences(before: Fingerprint, after: Fingerprint): string[] {
  return Object.keys({ ...before, ...after }).filter((name) => before[name] !== after[name]);
}
