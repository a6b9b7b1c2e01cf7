/** Two tenants with rows in every view, and the ways in which a connection can set its tenant. */
import type { TestConnection, TestDatabase } from "@jobforge/testing";
import { tenantViews } from "./views.ts";

export const T = "11111111-1111-4111-8111-111111111111";
export const U = "22222222-2222-4222-8222-222222222222";

export const clientRoles: readonly string[] = [
  "jobforge_tenant",
  "jobforge_app",
  "jobforge_worker",
  "jobforge_operator",
  "jobforge_reader",
];

export interface TenantJobs {
  readonly queued: string;
  readonly running: string;
  readonly dead: string;
}

/**
 * Gives T and U each a queued, a running, a dead and a succeeded job, a result, a connector configuration, a disabled
 * schedule and usage.
 */
export async function populate(db: TestDatabase): Promise<Record<"t" | "u", TenantJobs>> {
  const jobs = { t: await populateTenant(db, T), u: await populateTenant(db, U) };
  await db.query("select jobforge.roll_up_usage(jobforge.now())");
  return jobs;
}

async function populateTenant(db: TestDatabase, tenant: string): Promise<TenantJobs> {
  const enqueue = (type: string): Promise<string> =>
    db.value<string>("select jobforge_enqueue_job($1, $2, $3) ->> 'id'", [tenant, type, { secret: tenant }]);
  const claim = (type: string): Promise<unknown> =>
    db.query("select id from jobforge_claim_jobs('w1', 1, array[$1], $2)", [type, tenant]);
  const dead = await enqueue("dies");
  await claim("dies");
  await db.query(`select jobforge_complete_job($1, 'w1', 'failed', '{"message": "no"}', p_retry => false)`, [
    dead,
  ]);
  const succeeded = await enqueue("works");
  await claim("works");
  await db.query("select jobforge_complete_job($1, 'w1', 'succeeded', p_result => $2)", [
    succeeded,
    { secret: tenant },
  ]);
  const running = await enqueue("runs");
  await claim("runs");
  await db.query(
    `insert into jobforge.connector_configs (tenant_id, connector_type, config, created_at, updated_at)
     values ($1, 'http', $2, now(), now())`,
    [tenant, { secret: tenant }],
  );
  await db.query("select jobforge.audit($1, 'TEST', $2)", [tenant, dead]);
  await db.query("select jobforge_ensure_schedule($1, 'repeats', 'task', $2)", [
    tenant,
    { dynamic: true, enabled: false, payload: { secret: tenant } },
  ]);
  return { queued: await enqueue("waits"), running, dead };
}

/** Returns the tenants whose rows a connection sees, by view. */
export async function seen(connection: TestConnection): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {};
  for (const view of tenantViews) {
    found[view] = await connection.value<string[]>(
      `select coalesce(array_agg(distinct tenant_id::text order by tenant_id::text), '{}') from public.${view}`,
    );
  }
  return found;
}

/** Returns the result of `seen` for a connection that sees these tenants in every view. */
export function only(...tenants: string[]): Record<string, string[]> {
  return Object.fromEntries(tenantViews.map((view) => [view, tenants]));
}

/** Sets a value for the rest of the session, as every role can. */
export async function set(connection: TestConnection, name: string, value: string): Promise<void> {
  await connection.query("select set_config($1, $2, false)", [name, value]);
}

/** Opens a connection as a new login with these roles. */
export async function login(db: TestDatabase, ...roles: string[]): Promise<TestConnection> {
  return await db.connect((await db.createLogin(...roles)).url);
}

/** Opens a connection as a new login with these roles that is bound to the tenant. */
/** Makes the runs of a tenant those of a role that is bound to it, as if such a role had claimed them. */
export async function claimedByBound(db: TestDatabase, tenantId: string): Promise<void> {
  await db.query("update jobforge.runs set bound = true where tenant_id = $1", [tenantId]);
}

export async function boundLogin(
  db: TestDatabase,
  tenant: string,
  ...roles: string[]
): Promise<TestConnection> {
  const { role, url } = await db.createLogin(...roles);
  await db.query("select jobforge_bind_role($1, $2)", [role, tenant]);
  return await db.connect(url);
}

/** Returns a call of each function that takes a tenant and that the role may execute, with null for other arguments. */
export async function callsNaming(db: TestDatabase, tenant: string, role: string): Promise<string[]> {
  const rows = await db.query<{ call: string }>(
    `select format('select %I(%s)', p.proname, (
         select string_agg(format('%I => %L::%s', a.name, case a.name when 'p_tenant_id' then $1 end, a.type::regtype), ', ')
         from unnest(p.proargnames, p.proargtypes::oid[]) with ordinality a(name, type, position)
         where a.position <= p.pronargs - p.pronargdefaults or a.name = 'p_tenant_id')) as call
     from pg_proc p
     where p.pronamespace = 'public'::regnamespace
       and p.proname like 'jobforge\\_%'
       and 'p_tenant_id' = any (p.proargnames)
       and has_function_privilege($2, p.oid, 'execute')
     order by 1`,
    [tenant, role],
  );
  return rows.map((row) => row.call);
}
