/** The JSON that a worker and the database exchange. The field names are the database's. */
import type { RunError } from "@jobforge/sdk-ts/internal";

export type { RunError } from "@jobforge/sdk-ts/internal";

/** A claimed job. */
export interface ClaimedJob {
  readonly id: string;
  readonly tenant_id: string;
  readonly type: string;
  readonly payload: unknown;
  readonly priority: number;
  readonly attempts: number;
  readonly max_attempts: number;
  readonly run_at: string;
  readonly created_at: string;
  readonly trace_id: string;
  readonly subject?: string;
  readonly tags?: readonly string[];
  readonly traceparent?: string;
  /** For a run of a schedule: the time that it was due. */
  readonly scheduled_for?: string;
  /** Absent for other jobs, and when the schedule was deleted meanwhile. */
  readonly schedule_key?: string;
  /** Whether the schedule wants its runs to be retried. */
  readonly retry_runs?: boolean;
  readonly previous_run?: {
    readonly scheduled_for: string;
    readonly finished_at: string;
    readonly status: "succeeded" | "failed";
    readonly error: string | null;
    readonly consecutive_failures: number;
  } | null;
}

/** How a run ended, as a worker reports it. */
export interface RunEnd {
  readonly id: string;
  readonly attempt: number;
  readonly status: "succeeded" | "failed" | "deferred" | "released" | "suspended";
  readonly error?: RunError | undefined;
  readonly result?: unknown;
  readonly artifact_ref?: string | undefined;
  readonly retry?: boolean | undefined;
  readonly retry_at?: string | undefined;
  /** The earliest time of a retry, after the policy's wait. */
  readonly not_before?: string | undefined;
  readonly run_at?: string | undefined;
  readonly counts?: boolean | undefined;
  readonly cost_cents?: number | undefined;
  readonly next_run_at?: string | undefined;
  readonly children?: readonly unknown[] | undefined;
  /** Steps that a success adds to its workflow, and whether only the workflow waits for them. */
  readonly steps?: readonly unknown[] | undefined;
  readonly detached?: boolean | undefined;
  /** Of a suspended run: what its job waits for. */
  readonly wait?: Readonly<Record<string, unknown>> | undefined;
}

/** The status of a job after the end of one of its runs. */
export type EndStatus = "queued" | "succeeded" | "failed" | "dead" | "canceled";

/** The database's reply to one end. */
export interface SettledRun {
  readonly outcome: "ok" | "already" | "stale";
  readonly status: EndStatus | null;
}

export interface SettleResponse {
  /** One reply for each end, in the same order. */
  readonly settled: readonly SettledRun[];
  readonly jobs: readonly ClaimedJob[];
  /** Opaque to the worker, which passes it to the next claim of the same types. */
  readonly hint: unknown;
  readonly next_due_at: string | null;
  /** The database's time. */
  readonly now: string;
  /** Whether jobs were left out because the response would have been too large. Then the next claim gets them. */
  readonly more?: boolean;
  /** Why nothing was claimed, if the claim failed. The ends are settled all the same. */
  readonly claim_error?: { readonly code: string; readonly message: string };
}

/** Identifies a run. Together with the worker's id it is the fence of every write. */
export interface RunKey {
  readonly id: string;
  readonly attempt: number;
}

export interface HeartbeatResponse {
  /** Runs whose jobs were canceled. */
  readonly cancel: readonly RunKey[];
  /** Runs that this worker no longer holds. */
  readonly lost: readonly RunKey[];
  /** Jobs that were handed to this worker, and that it has not listed. Null or absent if it takes none. */
  readonly handed?: readonly string[] | null;
  readonly next_due_at: string | null;
  /** Whether a job may be claimed now. Absent or null if the heartbeat has not looked. */
  readonly ready?: boolean | null;
  /** Whether an operator has asked this worker to stop. */
  readonly stop?: boolean;
  /** The database's time. */
  readonly now: string;
}

/** What a call claims. */
export interface ClaimRequest {
  readonly limit: number;
  readonly types: readonly string[];
  /** Whether it includes every type that has room. If so, a response with fewer jobs means that no other job is due. */
  readonly coversAll: boolean;
  /** Whether it fills up the batches of one type, the only one in `types`. */
  readonly fillsBatches: boolean;
}
