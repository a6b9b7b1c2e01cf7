/** A job on its way between the two stores. The field names are those of `jobforge_move_jobs`. */
import type { EarlierRuns, JobDocument, StoredDocument } from "../document.ts";
import { documentText, toBullPriority } from "../document.ts";
import type { StoredJob } from "../queues.ts";
import { countsOf, lossesInARow, type RunRecord } from "../record.ts";
import { recordField } from "../scripts.ts";

export interface MovedJob {
  readonly id: string;
  readonly tenant_id: string;
  readonly type: string;
  readonly payload: unknown;
  readonly priority: number;
  readonly attempts: number;
  readonly uncounted: number;
  readonly failures: number;
  /** Lost runs in a row. */
  readonly losses?: number | undefined;
  readonly max_attempts: number;
  readonly run_at: string;
  readonly created_at: string;
  readonly expires_at?: string | undefined;
  readonly idempotency_key?: string | undefined;
  readonly dedupe_key?: string | undefined;
  readonly subject?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly traceparent?: string | undefined;
  readonly progress?: unknown;
  readonly error?: unknown;
  readonly cost_cents?: number | undefined;
  /** Canceled while it waited. */
  readonly canceled?: true | undefined;
}

/**
 * How far in the future a job is due that has arrived in Redis and must not run yet: twenty years. A job that may run
 * is due within ten.
 */
export const parkedMs = 20 * 365 * 86_400_000;

/** The job as BullMQ stores it, parked. */
export function toParked(job: MovedJob): StoredJob {
  const earlier: EarlierRuns = {
    attempts: job.attempts,
    counted: job.attempts - job.uncounted,
    failures: job.failures,
    ...(job.losses ? { losses: job.losses } : {}),
  };
  const facts: Omit<StoredDocument, "payload"> = {
    createdAt: job.created_at,
    ...(job.attempts === 0 ? {} : { earlier }),
    ...(job.subject === undefined ? {} : { subject: job.subject }),
    ...(job.tags === undefined || job.tags.length === 0 ? {} : { tags: job.tags }),
    ...(job.traceparent === undefined ? {} : { traceparent: job.traceparent }),
    ...(job.expires_at === undefined ? {} : { expiresAt: job.expires_at }),
    ...(job.idempotency_key === undefined ? {} : { idempotencyKey: job.idempotency_key }),
    ...(job.dedupe_key === undefined ? {} : { dedupeKey: job.dedupe_key }),
  };
  const dedupe =
    job.dedupe_key === undefined ? undefined : `${job.tenant_id.toLowerCase()}:${job.dedupe_key}`;
  return {
    id: job.id,
    name: job.tenant_id,
    data: documentText(facts, JSON.stringify(job.payload ?? {})),
    opts: {
      attempts: job.max_attempts,
      priority: toBullPriority(job.priority),
      delay: parkedMs,
      ...(dedupe === undefined ? {} : { deduplication: { id: dedupe } }),
    },
    ...(dedupe === undefined ? {} : { deduplicationId: dedupe }),
    timestamp: Date.now(),
    // BullMQ's word for none.
    progress: 0,
    attemptsMade: 0,
    attemptsStarted: 0,
    stalledCounter: 0,
    failedReason: "",
    returnvalue: "",
  };
}

/** What the job's runs have left: fields of its hash. */
export function fieldsOf({ error, cost_cents, progress }: MovedJob): Readonly<Record<string, string>> {
  const hasRecord = error !== undefined || cost_cents !== undefined;
  return {
    ...(hasRecord ? { [recordField]: JSON.stringify({ error, costCents: cost_cents }) } : {}),
    ...(progress === undefined ? {} : { progress: JSON.stringify(progress) }),
  };
}

/** The job as Postgres takes it. `dueAt` is when it is due, in milliseconds. */
export function fromStored(
  type: string,
  stored: StoredJob,
  document: JobDocument,
  record: RunRecord,
  dueAt: number,
): MovedJob {
  const { attempts, counted } = countsOf(stored, document.earlier);
  return {
    id: stored.id,
    tenant_id: document.tenantId,
    type,
    payload: document.payload,
    priority: document.priority,
    attempts,
    uncounted: attempts - counted,
    failures: (document.earlier?.failures ?? 0) + (record.failures ?? 0) + stored.stalledCounter,
    losses: lossesInARow(stored, document.earlier, record),
    max_attempts: stored.opts.attempts ?? 1,
    run_at: new Date(dueAt).toISOString(),
    created_at: document.createdAt ?? new Date(stored.timestamp).toISOString(),
    expires_at: document.expiresAt,
    idempotency_key: document.idempotencyKey,
    dedupe_key: document.dedupeKey,
    subject: document.subject,
    tags: document.tags,
    traceparent: document.traceparent,
    progress: stored.progress === 0 ? undefined : stored.progress,
    error: record.error,
    cost_cents: record.costCents,
    canceled: document.canceled,
  };
}
