/**
 * The functions and views of JobForge in the API schema, read from the database's catalog. Other objects in that
 * schema are left out. Names and types in a statement come from this catalog, never from a request.
 */
import pg from "pg";
import type { Database } from "./database.ts";

export interface CatalogFunction {
  /** The quoted schema and name. */
  readonly name: string;
  /** Types by name. */
  readonly parameters: ReadonlyMap<string, string>;
  /** `values`: rows of one value each. */
  readonly returns: "rows" | "values" | "value" | "nothing";
  /** The columns of the rows. Empty if the function returns values. */
  readonly columns: ReadonlyMap<string, string>;
  /** The function does not write, so it may be called with GET. */
  readonly readsOnly: boolean;
  /** Another role has a function of the same name in the schema. A call by name could reach that one. */
  readonly overloaded: boolean;
}

export interface View {
  readonly name: string;
  readonly columns: ReadonlyMap<string, string>;
}

/** How long the contents are used before they are read again. A migration may have changed them. */
const refreshMs = 30_000;
/** How soon an unknown name causes the contents to be read again. */
const retryMs = 1000;

export interface Contents {
  readonly functions: ReadonlyMap<string, CatalogFunction>;
  readonly views: ReadonlyMap<string, View>;
}

export class Catalog {
  readonly #database: Database;
  readonly #schema: string;
  #contents: Promise<Contents> | undefined;
  #readAt = 0;

  constructor(database: Database, schema: string) {
    this.#database = database;
    this.#schema = schema;
  }

  /** All functions and views, at most `refreshMs` old. */
  async contents(): Promise<Contents> {
    return await this.#read(refreshMs);
  }

  async function(name: string): Promise<CatalogFunction | undefined> {
    return await this.#find((contents) => contents.functions.get(name));
  }

  async view(name: string): Promise<View | undefined> {
    return await this.#find((contents) => contents.views.get(name));
  }

  async #find<T>(pick: (contents: Contents) => T | undefined): Promise<T | undefined> {
    return pick(await this.#read(refreshMs)) ?? pick(await this.#read(retryMs));
  }

  #read(maxAgeMs: number): Promise<Contents> {
    if (this.#contents === undefined || Date.now() - this.#readAt > maxAgeMs) {
      this.#readAt = Date.now();
      const reading = readContents(this.#database, this.#schema);
      this.#contents = reading;
      reading.catch(() => {
        if (this.#contents === reading) this.#contents = undefined;
      });
    }
    return this.#contents;
  }
}

interface FunctionRow extends pg.QueryResultRow {
  readonly name: string;
  readonly parameters: [string, string][];
  readonly columns: [string, string][];
  readonly returns: CatalogFunction["returns"];
  readonly reads_only: boolean;
  readonly overloaded: boolean;
}

interface ViewRow extends pg.QueryResultRow {
  readonly name: string;
  readonly columns: [string, string][];
}

async function readContents(database: Database, schema: string): Promise<Contents> {
  const [functions, views] = await Promise.all([
    database.query<FunctionRow>(functionsQuery, [schema]),
    database.query<ViewRow>(viewsQuery, [schema]),
  ]);
  const qualified = (name: string): string => `${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(name)}`;
  return {
    functions: new Map(
      functions.map((row) => [
        row.name,
        {
          name: qualified(row.name),
          parameters: new Map(row.parameters),
          columns: new Map(row.columns),
          returns: row.returns,
          readsOnly: row.reads_only,
          overloaded: row.overloaded,
        },
      ]),
    ),
    views: new Map(
      views.map((row) => [row.name, { name: qualified(row.name), columns: new Map(row.columns) }]),
    ),
  };
}

const functionsQuery = `
  select p.proname as name, p.provolatile <> 'v' as reads_only,
    exists (
      select from pg_proc o
      where o.pronamespace = p.pronamespace and o.proname = p.proname and o.proowner <> p.proowner) as overloaded,
    case
      when p.proretset and p.proallargtypes is null and r.typrelid = 0 then 'values'
      when p.proretset then 'rows'
      when p.prorettype = 'pg_catalog.void'::regtype then 'nothing'
      else 'value'
    end as returns,
    (select coalesce(json_agg(json_build_array(p.proargnames[place], format_type(t, null)) order by place), '[]')
      from unnest(p.proargtypes::oid[]) with ordinality a(t, place)) as parameters,
    case
      when not p.proretset then '[]'
      when p.proallargtypes is null then
        (select coalesce(json_agg(json_build_array(a.attname, format_type(a.atttypid, a.atttypmod)) order by a.attnum), '[]')
          from pg_type t join pg_attribute a on a.attrelid = t.typrelid
          where t.oid = p.prorettype and a.attnum > 0 and not a.attisdropped)
      else
        (select coalesce(json_agg(json_build_array(p.proargnames[place], format_type(t, null)) order by place), '[]')
          from unnest(p.proallargtypes) with ordinality a(t, place)
          where p.proargmodes[place] in ('t', 'o'))
    end as columns
  from pg_proc p
  join pg_type r on r.oid = p.prorettype
  where p.pronamespace = to_regnamespace(quote_ident($1))
    and p.proname like 'jobforge\\_%'
    and p.proowner = to_regrole('jobforge_owner')`;

const viewsQuery = `
  select c.relname as name,
    (select json_agg(json_build_array(a.attname, format_type(a.atttypid, a.atttypmod)) order by a.attnum)
      from pg_attribute a
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns
  from pg_class c
  where c.relnamespace = to_regnamespace(quote_ident($1))
    and c.relkind = 'v'
    and c.relname like 'jobforge\\_%'
    and c.relowner = to_regrole('jobforge_view')`;
