/** Shorthands for jobforge_settle_jobs, which ends runs and claims the next ones, with or without a hint. */
import { claim, type Sql } from "./kernel.ts";

/** The end of a run as a worker reports it. Any content is allowed, because the kernel must tolerate any. */
export type Report = Record<string, unknown>;

export interface Settled {
  id: unknown;
  attempt: number | null;
  outcome: "ok" | "already" | "stale";
  status: string | null;
}

export interface ClaimedJob {
  id: string;
  tenant_id: string;
  type: string;
  payload: unknown;
  priority: number;
  attempts: number;
}

export interface Settlement {
  settled: Settled[];
  jobs: ClaimedJob[];
  hint: unknown;
  next_due_at: string | null;
  claim_error?: { code: string; message: string };
}

export interface SettleOptions {
  worker?: string | null;
  claim?: number | null;
  types?: readonly string[] | null;
  tenant_id?: string | null;
  hint?: unknown;
}

/** Settles reports, by default of worker w1, and optionally claims. The hint goes through JSON, as in a client. */
export async function settle(db: Sql, results: unknown, options: SettleOptions = {}): Promise<Settlement> {
  const { worker = "w1", claim: limit = 0, types = null, tenant_id = null, hint } = options;
  return await db.value<Settlement>("select jobforge_settle_jobs($1, $2, $3, $4, $5, $6)", [
    worker,
    results === null ? null : JSON.stringify(results),
    limit,
    types,
    tenant_id,
    hint === undefined ? null : JSON.stringify(hint),
  ]);
}

/** Returns the outcomes of a settlement, in order. */
export function outcomes(settlement: Settlement): string[] {
  return settlement.settled.map((row) => row.outcome);
}

/** Returns the ids that a settlement claimed, in order. */
export function idsOf(settlement: Settlement): string[] {
  return settlement.jobs.map((job) => job.id);
}

/** Returns the report of a successful first attempt. */
export function success(id: string, more: Report = {}): Report {
  return { id, attempt: 1, status: "succeeded", ...more };
}

/** Claims all due jobs, up to 100, by default for worker w1. */
export async function claimAll(db: Sql, worker = "w1"): Promise<string[]> {
  return (await claim(db, worker, { limit: 100 })).map((job) => job.id);
}

/** Returns everything that the end of a run may write, as text. Equal texts mean that nothing was written. */
export async function everything(db: Sql): Promise<string[]> {
  const rows = await db.query<{ line: string }>(
    `select 'job ' || to_jsonb(j)::text as line from jobforge_jobs j
     union all select 'attempt ' || to_jsonb(a)::text from jobforge_job_attempts a
     union all select 'result ' || to_jsonb(r)::text from jobforge_job_results r
     union all select 'audit ' || to_jsonb(l)::text from jobforge_audit_log l
     order by 1`,
  );
  return rows.map((row) => row.line);
}

/** Returns a worker that keeps its hint between calls, as the runtimes do. */
export function hintedWorker(db: Sql, worker: string, options: Omit<SettleOptions, "hint" | "worker"> = {}) {
  let hint: unknown;
  return {
    /** Returns the hint for the next call. */
    hint: (): unknown => hint,
    /** Settles, claims, and keeps the new hint. */
    call: async (limit: number, results: readonly Report[] = []): Promise<Settlement> => {
      const answer = await settle(db, results, { ...options, worker, claim: limit, hint });
      hint = answer.hint;
      return answer;
    },
  };
}
