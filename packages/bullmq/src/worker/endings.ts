/** Ends runs in Redis: what becomes of the job, and the BullMQ call that does it. */
import {
  failureLine,
  type JobDefinition,
  retryDelayMs,
  retryOf,
  retryPresets,
  toStorableJson,
} from "@jobforge/sdk-ts";
import { Redactor, type RunEnd, type RunError, type SettledRun } from "@jobforge/worker-ts/runtime";
import type { KeepJobs } from "bullmq";
import type { RedisClient } from "../connection.ts";
import { type RunRecord, readRecord } from "../record.ts";
import { cancelField, recordField, writeField } from "../scripts.ts";
import type { BullRun } from "./held.ts";

const daySeconds = 86_400;
const keepSucceededDays = 1;
const keepFailedDays = 14;

/** A job that BullMQ took from the queue in the same call, in BullMQ's form. */
export type NextJob = readonly unknown[] | undefined;

export interface Ended {
  readonly reply: SettledRun;
  readonly next: NextJob;
}

export interface EndOptions {
  readonly definition: JobDefinition | undefined;
  /** Whether to take the next job of the queue in the same call. Only a success or a final failure can. */
  readonly fetchNext: boolean;
}

const stale: Ended = { reply: { outcome: "stale", status: null }, next: undefined };

/** Ends a run. Rejects if Redis cannot be reached. */
export async function endRun(
  client: RedisClient,
  run: BullRun,
  end: RunEnd,
  options: EndOptions,
): Promise<Ended> {
  try {
    if (run.isCanceled) return await cancel(client, run, end, options);
    if (end.status === "succeeded") return await succeed(client, run, end, options);
    if (end.status === "released") return await release(client, run);
    if (end.status === "deferred") return await defer(client, run, end, options);
    return await fail(client, run, end, options);
  } catch (error) {
    if (!isLost(error)) throw error;
    return (await hasEnded(client, run, end, options))
      ? { reply: { outcome: "already", status: null }, next: undefined }
      : stale;
  }
}

async function succeed(
  client: RedisClient,
  run: BullRun,
  end: RunEnd,
  { definition, fetchNext }: EndOptions,
): Promise<Ended> {
  if (end.cost_cents !== undefined) {
    const record = JSON.stringify({ costCents: end.cost_cents } satisfies RunRecord);
    if ((await writeField(client, run.queue, run, recordField, record)) === "lost") return stale;
  }
  const keep = keptAfterSuccess(definition, run);
  const { result } = await run.queue.store.moveToCompleted(
    minimal(run),
    storable(end.result),
    keep,
    run.token,
    fetchNext,
  );
  return { reply: { outcome: "ok", status: "succeeded" }, next: result ?? undefined };
}

/** The result as Postgres would store it: characters that it cannot store become U+FFFD. */
function storable(result: unknown): unknown {
  if (result === undefined || result === null) return null;
  const { text } = toStorableJson(result, "result");
  // The escape is there only if something was replaced.
  return text.includes("\\ufffd") ? JSON.parse(text) : result;
}

/** A cancel was requested. Any end of the run then ends the job. */
async function cancel(client: RedisClient, run: BullRun, end: RunEnd, options: EndOptions): Promise<Ended> {
  const error = end.error ?? { name: "Canceled", message: "The job was canceled" };
  return await finish(client, run, { status: "canceled", reason: "canceled", error, end }, options);
}

async function release(client: RedisClient, run: BullRun): Promise<Ended> {
  await run.queue.store.moveJobFromActiveToWait(run.id, run.token);
  // BullMQ wakes no worker for it.
  await client.zadd(run.queue.store.toKey("marker"), 0, "0");
  return { reply: { outcome: "ok", status: "queued" }, next: undefined };
}

async function defer(client: RedisClient, run: BullRun, end: RunEnd, options: EndOptions): Promise<Ended> {
  const counts = end.counts !== false;
  if (counts && isLast(run)) {
    const error = { name: "Deferred", message: "The job was deferred in its last attempt" };
    return await finish(client, run, { status: "dead", reason: "exhausted", error, end }, options);
  }
  await delay(run, end.run_at, { skipAttempt: !counts });
  return { reply: { outcome: "ok", status: "queued" }, next: undefined };
}

async function fail(client: RedisClient, run: BullRun, end: RunEnd, options: EndOptions): Promise<Ended> {
  const error = end.error ?? { name: "Error", message: "" };
  if (end.retry === false)
    return await finish(client, run, { status: "failed", reason: "refused", error, end }, options);
  if (isLast(run))
    return await finish(client, run, { status: "dead", reason: "exhausted", error, end }, options);
  const { record: before, isCanceled } = await recordOf(client, run);
  if (isCanceled) return await cancel(client, run, end, options);
  const failed = (before.failures ?? 0) + 1;
  const failures = failed + run.stored.stalledCounter + (run.document.earlier?.failures ?? 0);
  const policy = (options.definition && retryOf(options.definition)) ?? retryPresets.standard;
  const retryAt = end.retry_at ?? new Date(Date.now() + retryDelayMs(policy, failures)).toISOString();
  const shown = masked(error, options.definition);
  const record = recordText({ failures: failed, error: shown, ...cost(end, before) });
  await delay(run, retryAt, {
    skipAttempt: false,
    fieldsToUpdate: { failedReason: failureLine(shown), [recordField]: record },
  });
  return { reply: { outcome: "ok", status: "queued" }, next: undefined };
}

interface Final {
  readonly status: NonNullable<RunRecord["status"]>;
  readonly reason: NonNullable<RunRecord["reason"]>;
  readonly error: RunError;
  /** Absent for a job that ends without a run. */
  readonly end?: RunEnd | undefined;
}

/** Ends the job as failed, dead or canceled. BullMQ has one state for the three. */
export async function finish(
  client: RedisClient,
  run: BullRun,
  { status, reason, error, end }: Final,
  { definition, fetchNext }: EndOptions,
): Promise<Ended> {
  const { record: before } = await recordOf(client, run);
  const shown = masked(error, definition);
  const unstarted = end === undefined ? { unstarted: true as const } : {};
  const record = recordText({ ...before, status, reason, error: shown, ...cost(end, before), ...unstarted });
  const keep: KeepJobs = { age: (definition?.retentionDays ?? keepFailedDays) * daySeconds };
  const fields = { failedReason: failureLine(shown), [recordField]: record };
  const { result } = await run.queue.store.moveToFailed(
    minimal(run),
    failureLine(shown),
    keep,
    run.token,
    fetchNext,
    fields,
  );
  return { reply: { outcome: "ok", status }, next: result ?? undefined };
}

async function delay(
  { id, queue, token }: BullRun,
  at: string | undefined,
  options: { readonly skipAttempt: boolean; readonly fieldsToUpdate?: Record<string, string> },
): Promise<void> {
  const now = Date.now();
  const delayMs = at === undefined ? 0 : Math.max(0, Date.parse(at) - now);
  await queue.store.moveToDelayed(id, now, delayMs, token, { ...options, fetchNext: false });
}

function isLast({ counted, stored }: BullRun): boolean {
  return counted + 1 >= (stored.opts.attempts ?? 1);
}

async function recordOf(
  client: RedisClient,
  { queue, id }: BullRun,
): Promise<{ readonly record: RunRecord; readonly isCanceled: boolean }> {
  const [record, canceled] = await client.hmget(queue.jobKey(id), recordField, cancelField);
  return { record: readRecord(record), isCanceled: canceled !== null && canceled !== undefined };
}

function recordText(record: RunRecord): string {
  return JSON.stringify(record);
}

function cost(end: RunEnd | undefined, before: RunRecord): Pick<RunRecord, "costCents"> {
  const costCents = end?.cost_cents ?? before.costCents;
  return costCents === undefined ? {} : { costCents };
}

/** The error without secrets, as the kernel stores errors. */
function masked(
  error: RunError,
  definition: JobDefinition | undefined,
): RunError & { readonly attemptedAt: string } {
  const shown = new Redactor(definition?.redact).fields(error) as unknown as RunError;
  return { ...shown, attemptedAt: new Date().toISOString() };
}

/** A type without history forgets a job that succeeds. Its idempotency key is kept for a day, as on Postgres. */
function keptAfterSuccess(definition: JobDefinition | undefined, { document }: BullRun): boolean | KeepJobs {
  const days = definition?.retentionDays ?? keepSucceededDays;
  if (definition?.keepHistory !== false) return { age: days * daySeconds };
  return document.idempotencyKey === undefined ? true : { age: daySeconds };
}

/** BullMQ reads only these two of a job. */
function minimal({ id, stored }: BullRun): never {
  return { id, opts: stored.opts } as never;
}

/** BullMQ's codes: the job is missing, its lock is missing or has another token, or the job is not active. */
const lostCodes: readonly unknown[] = [-1, -2, -3, -6];

function isLost(error: unknown): boolean {
  return lostCodes.includes((error as { code?: unknown } | undefined)?.code);
}

/**
 * Whether this run's end was stored although the call failed: its connection was lost, and ioredis sent it again. Then
 * no other run of the job has started, and the job was not taken from a silent worker.
 */
async function hasEnded(
  client: RedisClient,
  run: BullRun,
  end: RunEnd,
  { definition }: EndOptions,
): Promise<boolean> {
  const { queue, id, stored } = run;
  const [started, lost] = await client.hmget(queue.jobKey(id), "ats", "stc");
  // A success of a type without history removes the job.
  if (started === null) return end.status === "succeeded" && keptAfterSuccess(definition, run) === true;
  const isSame = Number(started) === stored.attemptsStarted && Number(lost ?? 0) === stored.stalledCounter;
  return isSame && (await queue.store.getState(id)) !== "active";
}
