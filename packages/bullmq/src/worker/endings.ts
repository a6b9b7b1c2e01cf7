/** Ends runs in Redis: what becomes of the job, and the BullMQ call that does it. */
import {
  failureLine,
  type JobDefinition,
  retryDelayMs,
  retryOf,
  retryPresets,
  toStorableJson,
} from "@jobforge/sdk-ts";
import type { RunEnd, RunError, SettledRun } from "@jobforge/worker-ts/runtime";
import type { KeepJobs } from "bullmq";
import type { RedisClient } from "../connection.ts";
import { idOfKey, movedKey } from "../layout.ts";
import type { NextJob } from "../many.ts";
import type { RunRecord } from "../record.ts";
import { recordField } from "../scripts.ts";
import type { BullRun } from "./held.ts";
import { cost, losses, masked, noteRun, recordOf, recordText } from "./notes.ts";

const daySeconds = 86_400;
const keepSucceededDays = 1;
const keepFailedDays = 14;

export interface Ended {
  readonly reply: SettledRun;
  /** A job that BullMQ took from the queue in the same call. */
  readonly next: NextJob | undefined;
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
    if (end.status === "released") return await release(client, run, end, options);
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
    // The first run has no cost before it.
    const before = run.attempt === 1 ? {} : (await recordOf(client, run)).record;
    if (!(await noteRun(client, run, { ...before, ...cost(run, end, before) }))) return stale;
  }
  const keep = keptAfterSuccess(definition, run);
  const { token, queue } = run;
  const result = storable(end.result);
  const next = await queue.complete({ job: minimal(run), result, keep, token, fetchNext });
  if (run.document.idempotencyKey !== undefined) await keepKey(client, run, keep);
  return { reply: { outcome: "ok", status: "succeeded" }, next };
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
  const { record } = await recordOf(client, run);
  // A success clears the error, and a run that neither failed nor succeeded leaves it.
  const error = end.status === "failed" ? end.error : end.status === "succeeded" ? undefined : record.error;
  return await finish(client, run, { status: "canceled", reason: "canceled", error, end }, options);
}

async function release(client: RedisClient, run: BullRun, end: RunEnd, options: EndOptions): Promise<Ended> {
  const { record: before, isCanceled } = await recordOf(client, run);
  if (isCanceled) return await cancel(client, run, end, options);
  const added = cost(run, end, before);
  if (added.costCents !== undefined && !(await noteRun(client, run, { ...before, ...added }))) return stale;
  await run.queue.store.moveJobFromActiveToWait(run.id, run.token);
  // BullMQ wakes no worker for it.
  await client.zadd(run.queue.store.toKey("marker"), 0, "0");
  return { reply: { outcome: "ok", status: "queued" }, next: undefined };
}

async function defer(client: RedisClient, run: BullRun, end: RunEnd, options: EndOptions): Promise<Ended> {
  const { record: before, isCanceled } = await recordOf(client, run);
  // A short run that defers again and again may end before any heartbeat reports the cancel.
  if (isCanceled) return await cancel(client, run, end, options);
  const counts = end.counts !== false;
  if (counts && isLast(run)) {
    const putOff = { name: "Deferred", message: "Put off until the attempts were used up" };
    const error = end.error ?? before.error ?? putOff;
    return await finish(client, run, { status: "dead", reason: "exhausted", error, end }, options);
  }
  const news = { ...cost(run, end, before), ...losses(run) };
  await delay(run, end.run_at, {
    skipAttempt: !counts,
    ...(Object.keys(news).length === 0
      ? {}
      : { fieldsToUpdate: { [recordField]: recordText({ ...before, ...news }) } }),
  });
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
  const byPolicy = new Date(Date.now() + retryDelayMs(policy, failures)).toISOString();
  const retryAt = end.retry_at ?? later(byPolicy, end.not_before);
  const shown = masked(error, options.definition);
  const record = recordText({
    ...before,
    ...{ failures: failed, error: shown },
    ...cost(run, end, before),
    ...losses(run),
  });
  await delay(run, retryAt, {
    skipAttempt: false,
    fieldsToUpdate: { failedReason: failureLine(shown), [recordField]: record },
  });
  return { reply: { outcome: "ok", status: "queued" }, next: undefined };
}

interface Final {
  readonly status: NonNullable<RunRecord["status"]>;
  readonly reason: NonNullable<RunRecord["reason"]>;
  /** The job's error from now on. */
  readonly error: RunError | undefined;
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
  const { record } = await recordOf(client, run);
  const { error: earlier, ...before } = record;
  // A job that ends without a run keeps the error of the last one.
  const last = error ?? (end === undefined ? earlier : undefined);
  const shown = last === undefined ? undefined : masked(last, definition);
  // BullMQ wants a text, also for a job that ends without an error.
  const line = shown === undefined ? `The job ended as ${reason}` : failureLine(shown);
  const note = recordText({
    ...before,
    ...{ status, reason },
    ...(shown === undefined ? {} : { error: shown }),
    ...cost(run, end, before),
    ...(end === undefined ? { unstarted: true } : {}),
  });
  const keep: KeepJobs = { age: (definition?.retentionDays ?? keepFailedDays) * daySeconds };
  const fields = { failedReason: line, [recordField]: note };
  const { result } = await run.queue.store.moveToFailed(
    minimal(run),
    line,
    keep,
    run.token,
    fetchNext,
    fields,
  );
  if (run.document.idempotencyKey !== undefined) await keepKey(client, run, keep);
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

/** A type without history forgets a job that succeeds. Its idempotency key is kept for a day, as on Postgres. */
function keptAfterSuccess(definition: JobDefinition | undefined, { document }: BullRun): boolean | KeepJobs {
  const days = definition?.retentionDays ?? keepSucceededDays;
  if (definition?.keepHistory !== false) return { age: days * daySeconds };
  return document.idempotencyKey === undefined ? true : { age: daySeconds };
}

/** The key that leads to a moved job is kept as long as the job. */
async function keepKey(
  client: RedisClient,
  { id, queue, document }: BullRun,
  keep: boolean | KeepJobs,
): Promise<void> {
  const { tenantId, idempotencyKey = "" } = document;
  const ownId = idOfKey(tenantId, queue.type, idempotencyKey);
  const age = typeof keep === "object" && "age" in keep ? keep.age : undefined;
  if (ownId !== id && age !== undefined) await client.expire(movedKey(queue, ownId), age);
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

/** The later of two times. */
function later(time: string, other: string | undefined): string {
  return other === undefined || Date.parse(other) < Date.parse(time) ? time : other;
}
