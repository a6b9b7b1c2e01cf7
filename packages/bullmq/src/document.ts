/** A job as it is stored: what BullMQ keeps in its own options, and the document with the rest. */
import { randomUUID } from "node:crypto";
import { bounds, InvalidArgumentError, type PreparedJob, retryPresets } from "@jobforge/sdk-ts";
import { idOfKey, newId } from "./layout.ts";
import type { StoredJob } from "./queues.ts";
import { refuseConcurrencyKey, refuseNotify, refuseOffload } from "./support.ts";

/**
 * What is stored of a job besides BullMQ's options. The tenant is the name of the BullMQ job, and the priority is
 * BullMQ's, so that the data of a small job has the 64 bytes that Redis stores without an object for each field.
 */
export interface JobDocument extends StoredDocument {
  readonly tenantId: string;
  readonly priority: number;
}

/** The data of a BullMQ job. */
export interface StoredDocument {
  readonly payload: unknown;
  /** Ours, where higher runs first, if it was changed. */
  readonly priority?: number;
  /** Differs for each enqueue. It shows which call has created a job whose id several calls share, because of a key. */
  readonly enqueue?: string;
  readonly subject?: string;
  readonly tags?: readonly string[];
  readonly traceparent?: string;
  /** ISO times. */
  readonly expiresAt?: string;
  readonly createdAt?: string;
  readonly idempotencyKey?: string;
  readonly dedupeKey?: string;
  /** Whether the job was canceled while it waited. A worker ends it when it sees it. */
  readonly canceled?: true;
  /** What happened to the job before it was moved here. */
  readonly earlier?: EarlierRuns;
}

export interface EarlierRuns {
  readonly attempts: number;
  /** Those of them that count. */
  readonly counted: number;
  /** Those that failed or were lost. */
  readonly failures: number;
  /** Those that were lost in a row, up to the last one. */
  readonly losses?: number;
}

/** A job to add to a queue. */
export interface NewBullJob {
  readonly id: string;
  readonly type: string;
  readonly tenantId: string;
  readonly data: string;
  readonly maxAttempts: number;
  readonly priority: number;
  readonly delayMs: number;
  readonly dedupeKey: string | undefined;
  readonly dedupeMode: string;
  readonly idempotencyKey: string | undefined;
}

/** BullMQ's priorities: 1 is first, 0 would be before all others. */
export function toBullPriority(priority: number): number {
  return bounds.priority.max + 1 - priority;
}

/** The parts of a prepared job, under the kernel's names. Children of a run come as JSON, so times may be texts. */
interface Keys {
  readonly idempotency_key?: string;
  readonly dedupe_key?: string;
  readonly dedupe_mode?: string;
  readonly run_at?: Date | string;
  readonly delay_ms?: number;
  readonly expires_at?: Date | string;
  readonly max_attempts?: number;
  readonly default_attempts?: number;
  readonly priority?: number;
  readonly tags?: readonly string[];
  readonly subject?: string;
  readonly concurrency_key?: string;
  readonly traceparent?: string;
  readonly notify?: object;
}

/** Turns a prepared job into a job for BullMQ. `id` is for a job without an idempotency key. */
export function newBullJob(
  prepared: Pick<PreparedJob, "tenantId" | "type" | "keys" | "offload"> & {
    readonly payload: { readonly text: string };
  },
  { maxPriority, id }: { readonly maxPriority?: number | undefined; readonly id?: string | undefined } = {},
): NewBullJob {
  const { tenantId, type } = prepared;
  const keys = prepared.keys as Keys;
  refuseConcurrencyKey(keys.concurrency_key);
  refuseNotify(keys.notify);
  refuseOffload(prepared.offload);
  const delayMs = delayOf(keys);
  requireUnexpired(keys, delayMs);
  const priority = Math.min(keys.priority ?? 0, maxPriority ?? bounds.priority.max);
  const { idempotency_key: idempotencyKey, dedupe_key: dedupeKey } = keys;
  const facts: Omit<StoredDocument, "payload"> = {
    ...(idempotencyKey === undefined ? {} : { enqueue: randomUUID() }),
    ...optional("subject", keys.subject),
    ...optional("tags", keys.tags?.length === 0 ? undefined : keys.tags),
    ...optional("traceparent", keys.traceparent),
    ...optional("expiresAt", timeOf(keys.expires_at)),
    ...optional("idempotencyKey", idempotencyKey),
    ...optional("dedupeKey", dedupeKey),
  };
  return {
    id: idempotencyKey === undefined ? (id ?? newId()) : idOfKey(tenantId, type, idempotencyKey),
    type,
    tenantId,
    data: documentText(facts, prepared.payload.text),
    maxAttempts: keys.max_attempts ?? keys.default_attempts ?? retryPresets.standard.maxAttempts,
    priority,
    delayMs,
    dedupeKey,
    dedupeMode: keys.dedupe_mode ?? "skip",
    idempotencyKey,
  };
}

/** The document as JSON. The payload is JSON already. */
export function documentText(facts: Omit<StoredDocument, "payload">, payload: string): string {
  const text = JSON.stringify(facts);
  return `${text.slice(0, -1)}${text === "{}" ? "" : ","}"payload":${payload}}`;
}

/** A new job in the form in which BullMQ adds it. */
export function toStored(job: NewBullJob): StoredJob {
  const { id, data, maxAttempts, delayMs, dedupeKey, dedupeMode, tenantId } = job;
  const deduplicationId = dedupeKey === undefined ? undefined : `${tenantId.toLowerCase()}:${dedupeKey}`;
  return {
    id,
    name: tenantId,
    data,
    opts: {
      attempts: maxAttempts,
      priority: toBullPriority(job.priority),
      ...(delayMs > 0 ? { delay: delayMs } : {}),
      ...(deduplicationId === undefined
        ? {}
        : {
            deduplication: {
              id: deduplicationId,
              ...(dedupeMode === "debounce" ? { reschedule: true } : {}),
            },
          }),
    },
    ...(deduplicationId === undefined ? {} : { deduplicationId }),
    timestamp: Date.now(),
    progress: 0,
    attemptsMade: 0,
    attemptsStarted: 0,
    stalledCounter: 0,
    failedReason: "",
    returnvalue: "",
  };
}

export function readDocument({ name, data, priority }: StoredJob): JobDocument {
  const ours = bounds.priority.max + 1 - (priority ?? 0);
  return { tenantId: name, priority: ours, ...(JSON.parse(data) as StoredDocument) };
}

/** A job that expires before it is due would never run. */
function requireUnexpired({ expires_at }: Keys, delayMs: number): void {
  if (expires_at === undefined || new Date(expires_at).getTime() > Date.now() + delayMs) return;
  throw new InvalidArgumentError(
    "Invalid argument: expiresAt must be later than the time when the job is due",
    {
      field: "expiresAt",
    },
  );
}

function delayOf({ run_at, delay_ms }: Keys): number {
  if (delay_ms !== undefined) return delay_ms;
  return run_at === undefined ? 0 : Math.max(0, new Date(run_at).getTime() - Date.now());
}

function timeOf(value: Date | string | undefined): string | undefined {
  return value instanceof Date ? value.toISOString() : value;
}

function optional<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]: V });
}
