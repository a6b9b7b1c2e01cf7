/** Says which role a login needs, if Postgres refused it a function or a view of JobForge. */
import type { Connection } from "./connection.ts";
import { CommandError } from "./failures.ts";
import { choice } from "./output/values.ts";

const refused = /permission denied for (?:function|view|table) (jobforge_\w+)/;

/** The login, and the roles that the database grants the function or view to. */
const wanted = `
  select current_user as login, array(
    select distinct x.grantee::regrole::text
    from (
      select p.proacl as acl, p.proowner as owner from pg_proc p
      where p.proname = $1 and p.pronamespace = to_regnamespace(quote_ident($2))
      union all
      select c.relacl, c.relowner from pg_class c
      where c.relname = $1 and c.relnamespace = to_regnamespace(quote_ident($2))
    ) o
    cross join lateral aclexplode(o.acl) x
    where x.grantee not in (0, o.owner)
    order by 1) as roles`;

/** Returns the error with a hint that names the login and the role, or the error itself if it is another one. */
export async function namingRole(error: unknown, { pool, schema }: Connection): Promise<unknown> {
  if (!(error instanceof Error)) return error;
  const [message, object] = refused.exec(error.message) ?? [];
  if (message === undefined) return error;
  try {
    const { rows } = await pool.query<{ login: string; roles: string[] }>(wanted, [object, schema]);
    const { login = "", roles = [] } = rows[0] ?? {};
    if (roles.length === 0) return error;
    const hint = `The login ${login} needs the role ${choice(roles)}: grant ${roles[0]} to ${login};`;
    return new CommandError("forbidden", error.message, hint);
  } catch {
    return error;
  }
}
