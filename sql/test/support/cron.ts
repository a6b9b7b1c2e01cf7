/** Shorthands for the functions that evaluate cron expressions. */
import type { Sql } from "./kernel.ts";

const text = `to_char(r at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS')`;

/** Returns the next runs after an instant, in UTC, such as 2026-01-31 12:00:00. */
export async function runs(
  db: Sql,
  expression: string | null,
  after: string,
  { zone = "UTC", count = 3 }: { zone?: string | null; count?: number | null } = {},
): Promise<string[]> {
  const rows = await db.query<{ at: string }>(
    `select ${text} as at from jobforge_cron_runs($1, $2, $3, $4) with ordinality x(r, n) order by n`,
    [expression, zone, after, count],
  );
  return rows.map(({ at }) => at);
}

/** Returns the next run after an instant, in UTC. */
export async function next(
  db: Sql,
  expression: string | null,
  after: string,
  zone: string | null = "UTC",
): Promise<string> {
  return await db.value<string>(`select ${text} from jobforge_cron_next($1, $2, $3) r`, [
    expression,
    zone,
    after,
  ]);
}
