/** Finds objects of other roles that would take the place of JobForge's. */
import type { ClientBase } from "pg";
import { MigrationError } from "./errors.ts";
import type { Plan } from "./state.ts";

/**
 * Refuses an API schema that has functions or relations with JobForge's names that are not JobForge's, and a private
 * schema that another role owns. A call by name could reach such a function. The transaction must be pinned.
 */
export async function refuseForeignObjects(
  client: ClientBase,
  { apiSchema, repeatables }: Plan,
): Promise<void> {
  const grants = repeatables.last.find((file) => file.name === "security/grants.sql")?.sql ?? "";
  const names = [...grants.matchAll(/\('(jobforge_\w+)', '(?:api|view)'/g)].map(([, name]) => name);
  const { rows } = await client.query<{ object: string; owner: string }>(foreignObjects, [apiSchema, names]);
  const [first] = rows;
  if (first === undefined) return;
  const others = rows.length === 1 ? "" : ` and ${rows.length - 1} more`;
  throw new MigrationError(
    "foreign_objects",
    `${first.object}${others} has a name of JobForge's, but belongs to ${first.owner}`,
    "Drop or rename what is not JobForge's, and find out who created it. Then revoke the right to create objects in " +
      "that schema, or install JobForge with an API schema of its own.",
  );
}

/** Relations and functions of other owners by the names of ours, and the private schema if it has another owner. */
const foreignObjects = `
  select f.object, f.owner::regrole::text as owner
  from (
    select p.oid::regprocedure::text as object, p.proowner as owner
    from pg_proc p
    where p.pronamespace = to_regnamespace(quote_ident($1)) and p.proname = any ($2)
      and p.proowner is distinct from to_regrole('jobforge_owner')
    union all
    select c.oid::regclass::text, c.relowner
    from pg_class c
    where c.relnamespace = to_regnamespace(quote_ident($1)) and c.relname = any ($2)
      and c.relowner is distinct from to_regrole('jobforge_view')
    union all
    select 'The schema jobforge', n.nspowner
    from pg_namespace n
    where n.nspname = 'jobforge' and n.nspowner is distinct from to_regrole('jobforge_owner')
  ) f
  order by 1`;
