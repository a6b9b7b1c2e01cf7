/** Everything of JobForge that a caller could name: relations, sequences and functions, read from the catalog. */
import type { TestDatabase } from "@jobforge/testing";

export interface Relation extends Record<string, unknown> {
  readonly name: string;
  /** A table, a view or a sequence. */
  readonly kind: "table" | "view" | "sequence";
  readonly isPrivate: boolean;
  readonly columns: readonly string[];
}

export interface Parameter {
  readonly name: string;
  readonly type: string;
  readonly isOptional: boolean;
}

export interface CatalogFunction extends Record<string, unknown> {
  readonly name: string;
  readonly isPrivate: boolean;
  readonly parameters: readonly Parameter[];
}

export async function relationsOf(db: TestDatabase): Promise<Relation[]> {
  return await db.query<Relation>(
    `select format('%I.%I', n.nspname, c.relname) as name,
       case c.relkind when 'v' then 'view' when 'S' then 'sequence' else 'table' end as kind,
       n.nspname = 'jobforge' as "isPrivate",
       array(select quote_ident(a.attname) from pg_attribute a
         where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped order by a.attnum) as columns
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p', 'v', 'S')
       and (n.nspname = 'jobforge' or (n.nspname = 'public' and c.relname like 'jobforge\\_%'))
     order by 1`,
  );
}

export async function functionsOf(db: TestDatabase): Promise<CatalogFunction[]> {
  return await db.query<CatalogFunction>(
    `select format('%I.%I', n.nspname, p.proname) as name, n.nspname = 'jobforge' as "isPrivate",
       coalesce((
         select jsonb_agg(jsonb_build_object('name', coalesce(p.proargnames[a.n], ''), 'type', format_type(a.type, null),
           'isOptional', a.n > p.pronargs - p.pronargdefaults) order by a.n)
         from unnest(p.proargtypes::oid[]) with ordinality a(type, n)), '[]') as parameters
     from pg_proc p join pg_namespace n on n.oid = p.pronamespace
     where p.prokind = 'f' and (n.nspname = 'jobforge' or (n.nspname = 'public' and p.proname like 'jobforge\\_%'))
     order by 1`,
  );
}
