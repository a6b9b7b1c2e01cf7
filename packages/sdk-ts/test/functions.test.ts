/** The table of API functions is what the catalog says. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { apiFunctions } from "../src/transport/functions.ts";

test("the SDK knows every API function with its parameters, their types and what it returns", async ({
  db,
}) => {
  const functions = await db.query<{ name: string; parameters: string[]; returns: string }>(`
    select p.proname as name,
      case when p.proretset then 'rows' when p.prorettype = 'jsonb'::regtype then 'json' else replace(format_type(p.prorettype, null), 'timestamp with time zone', 'timestamptz') end as returns,
      array(
        select p.proargnames[a.place] || ' ' || replace(format_type(a.type, null), 'timestamp with time zone', 'timestamptz')
        from unnest(p.proargtypes::oid[]) with ordinality a(type, place)
        order by a.place) as parameters
    from pg_proc p
    where p.pronamespace = 'public'::regnamespace and p.proname like 'jobforge\\_%'
    order by 1`);
  const known = [...apiFunctions]
    .map(([name, { parameters, returns }]) => ({
      name,
      returns,
      parameters: [...parameters].map(([parameter, type]) => `${parameter} ${type}`),
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  expect(known).toEqual(functions);
});
