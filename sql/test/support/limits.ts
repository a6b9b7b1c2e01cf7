/** Shorthands for limits. */
import type { Sql } from "./kernel.ts";

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
