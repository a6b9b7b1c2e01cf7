/** Enqueues one job, and wakes workers for it. */
import type { Transport } from "../transport/transport.ts";
import type { EnqueueOutcome } from "../words.ts";
import { jobArguments, type PreparedJob } from "./prepare.ts";
import type { Waker } from "./wake.ts";

/** The columns of the job and the outcome, as the kernel returns them. */
export interface EnqueuedRow {
  readonly id: string;
  readonly outcome: EnqueueOutcome;
  readonly status: string | null;
  readonly run_at?: string;
}

/**
 * Without a waker, the commit of the caller's transaction sends the notification. The call is sent at once. A call that
 * is committed at once, and notifies by itself, may hand its job to an idle worker.
 */
export async function enqueueOne(
  transport: Transport,
  waker: Waker | undefined,
  job: PreparedJob,
): Promise<EnqueuedRow> {
  const follows = waker !== undefined && !waker.leads(job.type);
  const row = await transport.call<EnqueuedRow>("jobforge_enqueue_job", {
    ...jobArguments(job),
    p_notify: follows ? false : undefined,
    p_hand_off: waker !== undefined && !follows ? true : undefined,
  });
  if (follows) waker.follow(job.type, dueOf(job, row));
  return row;
}

/** When an enqueued job is due; undefined for now. */
export function dueOf({ keys }: PreparedJob, { run_at }: EnqueuedRow): Date | undefined {
  const isLater = keys["run_at"] !== undefined || keys["delay_ms"] !== undefined;
  return isLater && run_at !== undefined ? new Date(run_at) : undefined;
}
