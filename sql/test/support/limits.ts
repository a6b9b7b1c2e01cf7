/** Shorthands for limits. */
import { type Sql, T } from "./kernel.ts";
import { maintain } from "./usage.ts";

export type Scope = "type" | "tenant" | "type_tenant" | "key";

export interface LimitOptions {
  max?: number | null;
  rate?: number | null;
  per?: string | null;
  burst?: number | null;
}

export interface LimitResult {
  scope: string;
  key: string;
  max_running: number | null;
  rate: number | null;
  per: string | null;
  burst: number | null;
}

/** Sets a limit. */
export async function setLimit(
  db: Sql,
  scope: string | null,
  key: string | null,
  { max = null, rate = null, per = null, burst = null }: LimitOptions,
): Promise<LimitResult> {
  return await db.value<LimitResult>("select jobforge_set_limit($1, $2, $3, $4, $5, $6)", [
    scope,
    key,
    max,
    rate,
    per,
    burst,
  ]);
}

export async function removeLimit(db: Sql, scope: string, key: string): Promise<{ removed: boolean }> {
  return await db.value("select jobforge_remove_limit($1, $2)", [scope, key]);
}

/** Returns how many jobs are in each state. */
export async function statesOf(db: Sql): Promise<Record<string, number>> {
  const rows = await db.query<{ state: string; count: number }>(
    "select state, count(*)::int as count from jobforge.live_rows group by state",
  );
  return Object.fromEntries(rows.map((row) => [row.state, row.count]));
}

/** Gives a tenant a weight. */
export async function setWeight(db: Sql, tenant: string, weight: number): Promise<void> {
  await db.query(
    `insert into jobforge.tenants (tenant_id, weight, updated_at, updated_by) values ($1, $2, now(), 'test')
     on conflict (tenant_id) do update set weight = excluded.weight`,
    [tenant, weight],
  );
}

/**
 * Waits until the kernel has counted the tenant T, which has a quota. From then on the kernel only adds up changes. One
 * call is not enough while any transaction of the server, in whichever database, is older than the quota.
 */
export async function quotaCounted(db: Sql): Promise<void> {
  while (!(await db.value("select counted_at is not null from jobforge.tenants where tenant_id = $1", [T])))
    await maintain(db);
}
