/** Short words for jobforge_settle_jobs: ending runs and claiming the next ones, with or without the hint. */
import { claim, type Sql } from "./kernel.ts";

/** One end of a run as a worker reports it. Anything, because a kernel must survive anything. */
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

/** Settles what worker w1 reports, and claims when asked to. The hint goes through JSON, as it does in a client. */
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

/** The outcomes of a settlement, in order. */
export function outcomes(settlement: Settlement): string[] {
  return settlement.settled.map((row) => row.outcome);
}

/** The ids that a settlement claimed, in order. */
export function idsOf(settlement: Settlement): string[] {
  return settlement.jobs.map((job) => job.id);
}

/** A success of a run in its first attempt. */
export function success(id: string, more: Report = {}): Report {
  return { id, attempt: 1, status: "succeeded", ...more };
}

/** Claims everything that is due, up to 100 jobs, for worker w1. */
export async function claimAll(db: Sql, worker = "w1"): Promise<string[]> {
  return (await claim(db, worker, { limit: 100 })).map((job) => job.id);
}

/** Everything that an end of a run may write, as text: equal texts mean that nothing was written in between. */
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

/** A worker that keeps its hint between calls, as the runtimes do. */
export function hintedWorker(db: Sql, worker: string, options: Omit<SettleOptions, "hint" | "worker"> = {}) {
  let hint: unknown;
  return {
    /** What it would hand to its next call. */
    hint: (): unknown => hint,
    /** Settles, claims, and remembers. */
    call: async (limit: number, results: readonly Report[] = []): Promise<Settlement> => {
      const answer = await settle(db, results, { ...options, worker, claim: limit, hint });
      hint = answer.hint;
      return answer;
    },
  };
}
