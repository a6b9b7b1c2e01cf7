/** What a worker notes about the runs of a job when one of them ends: its error, its cost, its lost runs in a row. */
import type { JobDefinition } from "@jobforge/sdk-ts";
import { Redactor, type RunEnd, type RunError } from "@jobforge/worker-ts/runtime";
import type { RedisClient } from "../connection.ts";
import { type RunRecord, readRecord } from "../record.ts";
import { cancelField, recordField, writeField } from "../scripts.ts";
import type { BullRun } from "./held.ts";

/** The record of a run's job, and whether a cancel was requested. */
export async function recordOf(
  client: RedisClient,
  { queue, id }: BullRun,
): Promise<{ readonly record: RunRecord; readonly isCanceled: boolean }> {
  const [record, canceled] = await client.hmget(queue.jobKey(id), recordField, cancelField);
  return { record: readRecord(record), isCanceled: canceled !== null && canceled !== undefined };
}

export function recordText(record: RunRecord): string {
  return JSON.stringify(record);
}

/** The cost of the job with that of the run. An end that is sent again adds nothing. */
export function cost(
  { attempt }: BullRun,
  end: RunEnd | undefined,
  before: RunRecord,
): Pick<RunRecord, "costCents" | "costAttempt"> {
  if (end?.cost_cents === undefined || before.costAttempt === attempt) return {};
  return { costCents: (before.costCents ?? 0) + end.cost_cents, costAttempt: attempt };
}

export function hasLosses({ stored, document }: BullRun): boolean {
  return stored.stalledCounter > 0 || (document.earlier?.losses ?? 0) > 0;
}

/** After a run that was not lost, the next loss is the first one in a row. */
export function losses(run: BullRun): Pick<RunRecord, "lossesBefore"> {
  return hasLosses(run) ? { lossesBefore: run.stored.stalledCounter } : {};
}

/** Writes the record of a run that goes on to end. Resolves to whether the worker holds the run. */
export async function noteRun(client: RedisClient, run: BullRun, record: RunRecord): Promise<boolean> {
  return (await writeField(client, run.queue, run, recordField, recordText(record))) !== "lost";
}

/** The error without secrets, as the kernel stores errors. */
export function masked(
  error: RunError,
  definition: JobDefinition | undefined,
): RunError & { readonly attemptedAt: string } {
  const shown = new Redactor(definition?.redact).fields(error) as unknown as RunError;
  return { attemptedAt: new Date().toISOString(), ...shown };
}
