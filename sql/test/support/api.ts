/**
 * The public functions and views as the catalog has them. `sql/api.json` holds the result, so that clients in every
 * language can generate their calls from it without a database.
 */
import { readFileSync } from "node:fs";
import type { TestDatabase } from "@jobforge/testing";

export interface ApiDescription {
  readonly functions: readonly ApiFunction[];
  readonly views: readonly ApiView[];
}

export interface ApiFunction {
  readonly name: string;
  /** The folder of sql/functions that holds it, and its page in docs/reference/sql. */
  readonly group: string;
  readonly parameters: readonly { readonly name: string; readonly type: string; readonly default?: string }[];
  readonly returns: ApiResult;
  /** Whether the function changes nothing. */
  readonly readOnly: boolean;
  /** The roles that may call it. */
  readonly callers: readonly string[];
}

/** One value, or rows: those of a view (`type` is its name), or rows with their own columns. */
export interface ApiResult {
  readonly type: string;
  readonly rows: boolean;
  readonly columns?: readonly ApiColumn[];
}

export type ApiView = {
  readonly name: string;
  readonly columns: readonly ApiColumn[];
  readonly readers: readonly string[];
};

export interface ApiColumn {
  readonly name: string;
  readonly type: string;
}

/** Reads `sql/api.json`. */
export function storedApi(): ApiDescription {
  return JSON.parse(readFileSync(new URL("../../api.json", import.meta.url), "utf8")) as ApiDescription;
}

/** Returns SQL for the name of a type without its schema, as a short name where SQL has one. */
const typeName = (oid: string): string =>
  `replace(replace(format_type(${oid}, null), 'timestamp with time zone', 'timestamptz'), 'public.', '')`;

const functionsQuery = `
select p.proname as name,
  array(
    select jsonb_strip_nulls(jsonb_build_object(
      'name', p.proargnames[a.place],
      'type', ${typeName("a.type")},
      'default', pg_get_function_arg_default(p.oid, a.place::integer)))
    from unnest(p.proargtypes::oid[]) with ordinality a(type, place)
    order by a.place) as parameters,
  ${typeName("p.prorettype")} as type,
  p.proretset as rows,
  array(
    select jsonb_build_object('name', p.proargnames[a.place], 'type', ${typeName("a.type")})
    from unnest(p.proallargtypes) with ordinality a(type, place)
    where p.proargmodes[a.place] = 't'
    order by a.place) as columns,
  p.provolatile <> 'v' as "readOnly",
  g.granted as callers
from pg_proc p
join jobforge.grants('public') g on g.kind = 'function' and g.name = p.oid::regprocedure::text
where p.pronamespace = 'public'::regnamespace and p.proname like 'jobforge\\_%'
order by p.proname collate "C"`;

const viewsQuery = `
select c.relname as name,
  array(
    select jsonb_build_object('name', a.attname, 'type', ${typeName("a.atttypid")})
    from pg_attribute a
    where a.attrelid = c.oid and a.attnum > 0
    order by a.attnum) as columns,
  g.granted as readers
from pg_class c
join jobforge.grants('public') g on g.kind = 'table' and g.name = c.oid::regclass::text
where c.relnamespace = 'public'::regnamespace and c.relkind = 'v' and c.relname like 'jobforge\\_%'
order by c.relname collate "C"`;

type FunctionRow = Omit<ApiFunction, "group" | "returns"> & {
  readonly type: string;
  readonly rows: boolean;
  readonly columns: readonly ApiColumn[];
};

/** Describes the API of a migrated database. `groups` maps each function to its folder. */
export async function describeApi(
  db: TestDatabase,
  groups: ReadonlyMap<string, string>,
): Promise<ApiDescription> {
  const functions = await db.query<FunctionRow>(functionsQuery);
  const views = await db.query<ApiView>(viewsQuery);
  return {
    functions: functions.map(({ name, parameters, type, rows, columns, readOnly, callers }) => ({
      name,
      group: groups.get(name) ?? "",
      parameters,
      returns: { type, rows, ...(columns.length > 0 ? { columns } : {}) },
      readOnly,
      callers,
    })),
    views,
  };
}
