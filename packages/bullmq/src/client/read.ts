/** Reads a job from Redis. */
import type { Job, JobDefinition, JobStatus } from "@jobforge/sdk-ts";
import { readDocument } from "../document.ts";
import { type Queues, type StoredJob, ticksPerMs } from "../queues.ts";
import { countsOf, failureOf, type RunRecord, readRecord } from "../record.ts";
import { cancelField, recordField } from "../scripts.ts";

export interface ReadJob<D extends JobDefinition = JobDefinition> {
  readonly job: Job<D>;
  /** What the handler returned, once the job has succeeded. */
  readonly result: unknown;
}

/** The job as it is now; undefined if the tenant has no such job of this type. */
export async function readJob<D extends JobDefinition>(
  queues: Queues,
  type: string,
  id: string,
  tenantId: string,
): Promise<ReadJob<D> | undefined> {
  const queue = queues.of(type, tenantId);
  const key = queue.jobKey(id);
  // First the state: what a job that has ended leaves behind is then there to be read.
  const state = await queue.store.getState(id);
  const [stored, fields, score] = await Promise.all([
    queue.store.getJobData(id),
    queues.client.hmget(key, recordField, cancelField, "returnvalue", "pb"),
    queues.client.zscore(queue.store.toKey("delayed"), id),
  ]);
  if (stored === undefined) return undefined;
  const document = readDocument(stored);
  if (document.tenantId.toLowerCase() !== tenantId.toLowerCase()) return undefined;
  const [recordText, cancel, returned, workerId] = fields;
  const record = readRecord(recordText);
  const status = document.canceled && state !== "failed" ? "canceled" : statusOf(state, record);
  const job = toJob(type, id, stored, {
    record,
    status,
    cancel: cancel !== null,
    workerId: workerId ?? undefined,
    dueAt: score === null ? undefined : Math.floor(Number(score) / ticksPerMs),
  });
  const result = status === "succeeded" && returned ? (JSON.parse(returned) as unknown) : null;
  return { job: job as unknown as Job<D>, result };
}

function statusOf(state: string, record: RunRecord): JobStatus {
  if (state === "completed") return "succeeded";
  if (state === "failed") return record.status ?? "dead";
  return state === "active" ? "running" : "queued";
}

interface Facts {
  readonly record: RunRecord;
  readonly status: JobStatus;
  readonly cancel: boolean;
  readonly workerId: string | undefined;
  /** Of a job that waits for its time, in epoch milliseconds. BullMQ keeps it as the place in its order only. */
  readonly dueAt: number | undefined;
}

function toJob(type: string, id: string, stored: StoredJob, facts: Facts): Job {
  const { record, status, workerId, dueAt } = facts;
  const document = readDocument(stored);
  const { attempts, counted } = countsOf(stored, document.earlier, record);
  const isRunning = status === "running";
  // A success clears the error of the runs before it.
  const error = status === "succeeded" ? undefined : failureOf(record);
  // A job that ended without any run was claimed for that.
  const startedAt = attempts === 0 ? undefined : dateOf(stored.processedOn);
  const createdAt = new Date(document.createdAt ?? stored.timestamp);
  return {
    id,
    tenantId: document.tenantId,
    type,
    payload: document.payload as Job["payload"],
    status,
    priority: document.priority,
    attempts,
    maxAttempts: stored.opts.attempts ?? 1,
    uncounted: Math.max(0, attempts - counted - (isRunning ? 1 : 0)),
    runAt: new Date(dueAt ?? stored.timestamp + (stored.opts.delay ?? 0)),
    lockedBy: isRunning ? workerId : undefined,
    lockedAt: isRunning ? startedAt : undefined,
    heartbeatAt: undefined,
    startedAt,
    finishedAt: dateOf(stored.finishedOn),
    expiresAt: document.expiresAt === undefined ? undefined : new Date(document.expiresAt),
    createdAt,
    updatedAt: dateOf(stored.finishedOn) ?? startedAt ?? createdAt,
    idempotencyKey: document.idempotencyKey,
    dedupeKey: document.dedupeKey,
    concurrencyKey: undefined,
    subject: document.subject,
    tags: document.tags ?? [],
    progress: stored.progress === 0 ? undefined : stored.progress,
    cancelRequested: facts.cancel,
    error,
    lastError: error === undefined ? undefined : (error.fullMessage ?? error.message),
    resultId: undefined,
    costCents: record.costCents,
    traceparent: document.traceparent,
    traceId: undefined,
    reason: reasonOf(status, record),
    scheduleId: undefined,
    scheduledFor: undefined,
    scheduleKey: undefined,
    tenantLabel: undefined,
  };
}

function reasonOf(status: JobStatus, { reason }: RunRecord): Job["reason"] {
  if (status === "succeeded") return "done";
  if (status === "canceled") return reason ?? "canceled";
  return status === "queued" || status === "running" ? undefined : (reason ?? "crashed");
}

function dateOf(time: number | undefined): Date | undefined {
  return time === undefined ? undefined : new Date(Number(time));
}
