/**
 * What JobForge knows of a job's runs, beyond what BullMQ keeps: the error as JSON, how the job ended, its cost. It is
 * a field of the job's hash, so it disappears with the job.
 */
import { failureLine, type JobEndReason, type JobFailure, type JobStatus } from "@jobforge/sdk-ts";
import type { RunError } from "@jobforge/worker-ts/runtime";
import type { EarlierRuns } from "./document.ts";
import type { StoredJob } from "./queues.ts";

export interface RunRecord {
  /** Runs that failed. Lost runs are counted by BullMQ. */
  readonly failures?: number;
  readonly error?: RunError & { readonly attemptedAt: string };
  readonly status?: Extract<JobStatus, "failed" | "dead" | "canceled">;
  readonly reason?: JobEndReason;
  /** Of all runs together. */
  readonly costCents?: number;
  /** The last run whose cost is in it. */
  readonly costAttempt?: number;
  /** The lost runs before the last run that ended otherwise: they are not in a row with those after it. */
  readonly lossesBefore?: number;
  /** Whether the last claim ended the job without a run: it was canceled, had expired, or had no attempt left. */
  readonly unstarted?: true;
}

export function readRecord(text: string | null | undefined): RunRecord {
  return text === null || text === undefined ? {} : (JSON.parse(text) as RunRecord);
}

/** The error as the SDK shows it. Only an error with causes has more to say than its message. */
export function failureOf({ error }: RunRecord): JobFailure | undefined {
  if (error === undefined) return undefined;
  const fullMessage = failureLine(error);
  return fullMessage === error.message ? error : { ...error, fullMessage };
}

/** How often a job was claimed before its current claim, or in all if it is not running. */
export interface Counts {
  readonly attempts: number;
  /** Executions that have ended and count. */
  readonly counted: number;
}

/** BullMQ counts executions that ended (`attemptsMade`) and those that were lost (`stalledCounter`). */
export function countsOf(
  job: StoredJob,
  earlier: EarlierRuns | undefined,
  { unstarted }: RunRecord = {},
): Counts {
  const { attempts = 0, counted = 0 } = earlier ?? {};
  return {
    attempts: attempts + job.attemptsStarted - (unstarted ? 1 : 0),
    counted: counted + job.attemptsMade + job.stalledCounter,
  };
}

/** The runs that were lost in a row, up to now. */
export function lossesInARow(
  { stalledCounter }: StoredJob,
  earlier: EarlierRuns | undefined,
  { lossesBefore }: RunRecord,
): number {
  return stalledCounter + (lossesBefore === undefined ? (earlier?.losses ?? 0) : -lossesBefore);
}
