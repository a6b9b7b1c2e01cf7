/** The JSON that passes between a worker and the kernel. The names are the kernel's. */

/** A job as `jobforge_exchange_jobs` hands it out. */
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
  /** Of a run of a schedule: the time it was due. */
  readonly scheduled_for?: string;
  /** Not there either when the schedule was deleted meanwhile. */
  readonly schedule_key?: string;
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
  readonly status: "succeeded" | "failed" | "deferred" | "released";
  readonly error?: RunError | undefined;
  readonly result?: unknown;
  readonly retry?: boolean | undefined;
  readonly retry_at?: string | undefined;
  readonly run_at?: string | undefined;
  readonly counts?: boolean | undefined;
  readonly cost_cents?: number | undefined;
  readonly next_run_at?: string | undefined;
  readonly children?: readonly unknown[] | undefined;
}

export interface RunError {
  readonly name: string;
  readonly message: string;
  readonly [detail: string]: unknown;
}

/** The status a run's end led its job to. */
export type JobStatus = "queued" | "succeeded" | "failed" | "dead" | "canceled";

export interface SettledRun {
  readonly outcome: "ok" | "already" | "stale";
  readonly status: JobStatus | null;
}

export interface SettleAnswer {
  readonly settled: readonly SettledRun[];
  readonly jobs: readonly ClaimedJob[];
  readonly hint: unknown;
  readonly next_due_at: string | null;
  /** The database's time. */
  readonly now: string;
  readonly claim_error?: { readonly code: string; readonly message: string };
}

/** One execution of a job: the pair is the fence of every write. */
export interface Held {
  readonly id: string;
  readonly attempt: number;
}

export interface HeartbeatAnswer {
  readonly cancel: readonly Held[];
  readonly lost: readonly Held[];
  readonly next_due_at: string | null;
  readonly now: string;
}

/** What a claim asks for. */
export interface Ask {
  readonly limit: number;
  readonly types: readonly string[];
  /** Whether every type that has room is in it, so that a short answer means that nothing else is due. */
  readonly all: boolean;
  /** Whether it is to fill up the batches of its one type. */
  readonly fill: boolean;
}
