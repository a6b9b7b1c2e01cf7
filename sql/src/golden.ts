/**
 * Describes all of JobForge's objects in a database as text, one fact per line, read from the catalog. The text is the
 * same on every server version. It is checked in as schema.golden.txt, so that a review shows every change of the
 * schema. Tests compare a database with it, and `schemaDrift` reports how an installation differs from it.
 */
import { readFileSync } from "node:fs";
import type { ClientBase } from "pg";
import { pinSession } from "./session.ts";

/** Each query returns lines, which the database sorts in the collation C. $1 is the API schema. */
const sections: readonly (readonly [title: string, sql: string])[] = [
  [
    "Tables",
    `select format('%s %s%s%s', c.oid::regclass, case c.relkind when 'p' then 'partitioned by ' || pg_get_partkeydef(c.oid) else 'table' end,
        case when c.relispartition then ' partition of ' || (select i.inhparent::regclass from pg_inherits i where i.inhrelid = c.oid)
          || ' ' || pg_get_expr(c.relpartbound, c.oid) else '' end,
        case when c.relrowsecurity then ', row security' else '' end)
        || coalesce(' with ' || nullif(array_to_string(array(select unnest(c.reloptions) order by 1), ', '), ''), '') as line
     from pg_class c
     where c.relnamespace = 'jobforge'::regnamespace and c.relkind in ('r', 'p')
       -- Leaves come and go with the calendar.
       and coalesce(pg_get_expr(c.relpartbound, c.oid), '') not like 'FOR VALUES FROM%'`,
  ],
  [
    "Columns",
    `select format('%s.%s %s%s%s%s%s', a.attrelid::regclass, a.attname, format_type(a.atttypid, a.atttypmod),
        case when a.attcollation <> t.typcollation then ' collate ' || a.attcollation::regcollation else '' end,
        case when a.attnotnull then ' not null' else '' end,
        case a.attidentity when 'a' then ' identity' else '' end,
        coalesce(case a.attgenerated when 's' then ' generated ' else ' default ' end || pg_get_expr(d.adbin, d.adrelid), '')) as line
     from pg_attribute a
     join pg_class c on c.oid = a.attrelid
     join pg_type t on t.oid = a.atttypid
     left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
     where c.relnamespace = 'jobforge'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and a.attnum > 0 and not a.attisdropped`,
  ],
  [
    "Constraints",
    `select format('%s %s %s', o.conrelid::regclass, o.conname, pg_get_constraintdef(o.oid)) as line
     from pg_constraint o
     join pg_class c on c.oid = o.conrelid
     where c.relnamespace = 'jobforge'::regnamespace and o.contype in ('c', 'p', 'u', 'f', 'x') and not c.relispartition`,
  ],
  [
    "Indexes",
    `select pg_get_indexdef(i.indexrelid) as line
     from pg_index i
     join pg_class c on c.oid = i.indrelid
     where c.relnamespace = 'jobforge'::regnamespace and not c.relispartition`,
  ],
  [
    "Domains",
    `select format('%s as %s%s %s', t.oid::regtype, format_type(t.typbasetype, t.typtypmod),
        case when t.typcollation <> b.typcollation then ' collate ' || t.typcollation::regcollation else '' end,
        (select coalesce(string_agg(format('%I %s', o.conname, pg_get_constraintdef(o.oid)), ', ' order by o.conname), 'without a check')
         from pg_constraint o where o.contypid = t.oid)) as line
     from pg_type t
     join pg_type b on b.oid = t.typbasetype
     where t.typnamespace = 'jobforge'::regnamespace and t.typtype = 'd'`,
  ],
  [
    "Types",
    `select format('%s (%s)', t.oid::regtype,
        (select string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
             || case when a.attcollation <> y.typcollation then ' collate ' || a.attcollation::regcollation else '' end,
           ', ' order by a.attnum)
         from pg_attribute a
         join pg_type y on y.oid = a.atttypid
         where a.attrelid = t.typrelid)) as line
     from pg_type t
     join pg_class c on c.oid = t.typrelid and c.relkind = 'c'
     where t.typnamespace = 'jobforge'::regnamespace`,
  ],
  [
    "Views",
    `select format('%s owned by %s%s (%s)', c.oid::regclass, c.relowner::regrole,
        coalesce(' with ' || array_to_string(c.reloptions, ', '), ''),
        (select string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', ' order by a.attnum)
         from pg_attribute a where a.attrelid = c.oid and a.attnum > 0)) as line
     from pg_class c
     where c.relkind = 'v' and (c.relnamespace = 'jobforge'::regnamespace
       or (c.relnamespace = to_regnamespace(quote_ident($1)) and c.relname like 'jobforge\\_%'))`,
  ],
  [
    "Policies",
    `select format('%s %s for %s to %s using %s', p.polrelid::regclass, p.polname, p.polcmd,
        array_to_string(array(select r::regrole::text from unnest(p.polroles) r order by 1), ', '),
        pg_get_expr(p.polqual, p.polrelid)) as line
     from pg_policy p
     join pg_class c on c.oid = p.polrelid
     where c.relnamespace = 'jobforge'::regnamespace`,
  ],
  [
    "Functions",
    `select format('%s.%s(%s) returns %s, %s%s%s, body %s', p.pronamespace::regnamespace, p.proname, pg_get_function_arguments(p.oid),
        pg_get_function_result(p.oid),
        case p.provolatile when 'v' then 'volatile' when 's' then 'stable' else 'immutable' end,
        case when p.prosecdef then ', security definer' else '' end,
        coalesce(', set ' || array_to_string(p.proconfig, ', '), ''),
        case when p.proname in ('now', 'new_id') then 'of this server' else left(encode(sha256(convert_to(coalesce(pg_get_function_sqlbody(p.oid), p.prosrc), 'UTF8')), 'hex'), 12) end) as line
     from pg_proc p
     where p.pronamespace = 'jobforge'::regnamespace
       or (p.pronamespace = to_regnamespace(quote_ident($1)) and p.proname like 'jobforge\\_%')`,
  ],
  [
    "Grants",
    `select format('%s %s: %s', g.kind, g.name, array_to_string(g.granted, ', ')) as line
     from jobforge.grants($1) g
     where g.granted <> '{}'`,
  ],
];

export async function describeSchema(client: ClientBase, apiSchema: string): Promise<string> {
  const parts: string[] = [];
  // With the search path of pinSession Postgres prints the schema of every name that is not its own.
  await client.query("begin read only");
  try {
    await client.query(pinSession);
    for (const [title, sql] of sections) {
      const parameters = sql.includes("$1") ? [apiSchema] : [];
      const { rows } = await client.query<{ line: string }>(
        `select line from (${sql}) s order by line collate "C"`,
        parameters,
      );
      parts.push(`# ${title}`, ...rows.map((row) => row.line), "");
    }
  } finally {
    await client.query("commit");
  }
  return parts.join("\n");
}

/** Shelves of the archive come and go with the retention in the policies. */
const shelf = /^jobforge\.(finished|dead)_jobs_\d+(_default)? /;

/** How a database differs from the schema of this package: lines that are missing, and lines that should not exist. */
export interface SchemaDrift {
  readonly missing: readonly string[];
  readonly unexpected: readonly string[];
}

/** Compares a database with `schema.golden.txt`. The result is meaningful only when its migrations are up to date. */
export async function schemaDrift(client: ClientBase, apiSchema: string): Promise<SchemaDrift> {
  const golden = readFileSync(new URL("../schema.golden.txt", import.meta.url), "utf8");
  const wanted = factsIn(golden);
  const found = factsIn(inPublic(await describeSchema(client, apiSchema), apiSchema));
  return {
    missing: [...wanted].filter((line) => !found.has(line)),
    unexpected: [...found].filter((line) => !wanted.has(line)),
  };
}

function factsIn(description: string): Set<string> {
  return new Set(
    description.split("\n").filter((line) => line !== "" && !line.startsWith("# ") && !shelf.test(line)),
  );
}

/** The golden schema has the API in `public`. */
function inPublic(description: string, apiSchema: string): string {
  const name = `(?<![\\w."])${/^[a-z_][a-z0-9_]*$/.test(apiSchema) ? apiSchema : `"${apiSchema}"`}\\.`;
  return description.replaceAll(new RegExp(name, "g"), "public.");
}
