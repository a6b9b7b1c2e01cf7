/**
 * Plants traps: functions, operators, types and relations with the names of all those of the system that JobForge's
 * statements use, in a schema that comes before the system's in the search path of every session. A statement that
 * leaves the schema of a name to the search path runs into a trap. Each trap records its name and raises.
 */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { TestDatabase } from "@jobforge/testing";

const root = fileURLToPath(new URL("../", import.meta.url));
const sources = [
  "sql",
  "packages/sdk-ts/src",
  "packages/worker-ts/src",
  "packages/server/src",
  "packages/cli/src",
];

export interface Traps {
  /** How many traps of each kind there are. */
  readonly planted: Readonly<Record<"function" | "operator" | "type" | "relation", number>>;
  /** The trap that was last run into. Undefined if none was. */
  caught(): Promise<string | undefined>;
}

/** Plants the traps. Sessions that are opened from now on have the search path `planted, public, pg_catalog`. */
export async function plantTraps(db: TestDatabase): Promise<Traps> {
  await db.query(trapsSql);
  await db.query("select trap.plant($1)", [wordsInSources()]);
  await db.query(`alter database ${db.name} set search_path = planted, public, pg_catalog`);
  const counts = await db.query<{ kind: string; count: number }>(
    "select kind, count(*)::int as count from trap.names group by kind",
  );
  return {
    planted: Object.fromEntries(counts.map(({ kind, count }) => [kind, count])) as Traps["planted"],
    caught: async () => {
      const [row] = await db.query<{ name: string }>(
        "select n.kind || ' ' || n.name as name from trap.names n, trap.last l where l.is_called and n.id = l.last_value",
      );
      return row?.name;
    },
  };
}

/** Every word in SQL files and in files with statements. The database knows which of them are its names. */
function wordsInSources(): string[] {
  const words = new Set<string>();
  for (const folder of sources) {
    for (const name of readdirSync(`${root}${folder}`, { recursive: true, encoding: "utf8" })) {
      if (!/\.(sql|ts)$/.test(name) || name.includes("node_modules") || name.startsWith("test")) continue;
      for (const [word] of readFileSync(`${root}${folder}/${name}`, "utf8").matchAll(/[a-z_][a-z0-9_]*/g))
        words.add(word);
    }
  }
  return [...words];
}

const trapsSql = `
  create schema trap;
  create schema planted;
  create table trap.names (id integer generated always as identity primary key, kind text, name text);
  create sequence trap.last;
  -- A sequence keeps its value when the transaction is rolled back.
  create function trap.caught(p_id integer) returns boolean language plpgsql set search_path = pg_catalog as $$
  begin
    perform setval('trap.last', p_id);
    raise exception 'trap % was run into', p_id;
  end $$;

  create function trap.add(p_kind text, p_name text, p_statement text) returns void language plpgsql as $$
  declare
    v_id integer;
  begin
    insert into trap.names (kind, name) values (p_kind, p_name) returning id into v_id;
    execute replace(p_statement, '<id>', v_id::text);
  -- Some functions use types that only the system's may use, and some pairs of types have one signature.
  exception when invalid_function_definition or duplicate_function or feature_not_supported or wrong_object_type
    or undefined_object or invalid_parameter_value or datatype_mismatch then
    null;
  end $$;

  create function trap.plant(p_words text[]) returns void language plpgsql as $$
  begin
    perform trap.add('function', p.proname, format('create function planted.%I(%s) returns %s language plpgsql as %L', p.proname,
      replace(oidvectortypes(p.proargtypes), '"any"', 'anyelement'),
      case when p.proretset then 'setof ' else '' end || replace(format_type(p.prorettype, null), '"any"', 'anyelement'),
      'begin perform trap.caught(<id>); end'))
    from pg_proc p
    where p.pronamespace in ('pg_catalog'::regnamespace, to_regnamespace('jobforge')) and p.proname = any (p_words);
    perform trap.add('operator', o.oprname, format(
      'create function planted.trap_<id>(%1$s%2$s) returns %3$s language plpgsql as ''begin perform trap.caught(<id>); end'';
       create operator planted.%4$s (%5$s rightarg = %2$s, function = planted.trap_<id>)',
      nullif(o.oprleft, 0)::regtype || ', ', o.oprright::regtype, o.oprresult::regtype, o.oprname,
      'leftarg = ' || nullif(o.oprleft, 0)::regtype || ', '))
    from pg_operator o
    where o.oprnamespace = 'pg_catalog'::regnamespace
      and o.oprname = any ('{=,<>,<,<=,>,>=,||,->,->>,#>,#>>,#-,@>,<@,&&,?,?|,?&,+,-,*,/,%,~,~*,!~,~~,~~*,!~~,^@,@@}')
      and not exists (
        select from pg_type t
        where t.oid in (o.oprleft, o.oprright) and (t.typcategory in ('G', 'I', 'V', 'Z')
          or t.typname ~ '^(money|tsvector|tsquery|macaddr|.*range|oidvector|pg_.*|regdictionary|regconfig|aclitem|bpchar)'));
    perform trap.add('type', t.typname, format('create domain planted.%I as pg_catalog.%I check (trap.caught(<id>))', t.typname, t.typname))
    from pg_type t
    where t.typnamespace = 'pg_catalog'::regnamespace and t.typtype = 'b' and t.typelem = 0 and t.typname = any (p_words);
    perform trap.add('relation', c.relname, format('create view planted.%I as select trap.caught(<id>)', c.relname))
    from (
      select distinct c.relname
      from pg_class c
      where c.relnamespace in ('pg_catalog'::regnamespace, to_regnamespace('jobforge')) and c.relkind in ('r', 'p', 'v')
        and c.relname = any (p_words)
        and to_regtype('planted.' || quote_ident(c.relname)) is null
    ) c;
    grant usage on schema trap, planted to public;
    grant update on sequence trap.last to public;
    grant select on all tables in schema planted to public;
  end $$;
`;
