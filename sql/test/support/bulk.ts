/** Shorthands for jobforge_enqueue_jobs. */
import { type Sql, T } from "./kernel.ts";

export interface Row {
  id: string;
  outcome: "created" | "existing" | "replaced";
}

/** Enqueues a list for tenant T in one call. */
export async function enqueueJobs(db: Sql, jobs: unknown, tenant: string | null = T): Promise<Row[]> {
  return await db.value<Row[]>("select jobforge_enqueue_jobs($1, $2)", [
    tenant,
    jobs === null ? null : JSON.stringify(jobs),
  ]);
}

/** Returns the outcomes of a call, in order. */
export const outcomesOf = (rows: readonly Row[]): string[] => rows.map((row) => row.outcome);
