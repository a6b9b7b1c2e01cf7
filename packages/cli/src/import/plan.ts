/** Decides what becomes of each job and each cron entry of the source: its type and tenant here, or why it stays. */
import {
  bounds,
  defineJob,
  globalTenant,
  JsonText,
  maxPayloadBytes,
  type PreparedJob,
  tenantOf,
  toJson,
} from "@jobforge/sdk-ts";
import { messageOf } from "../client.ts";
import type { SourceJob, SourceName, SourceSchedule } from "./source.ts";

export interface Mapping {
  readonly source: SourceName;
  /** New names of types by their old ones. */
  readonly map: ReadonlyMap<string, string>;
  /** What the names of all other types begin with. */
  readonly prefix: string;
  /** The tenant of everything, or of what has none at `tenantFrom`. */
  readonly tenant: string | undefined;
  /** The path of the tenant's id in the payload. */
  readonly tenantFrom: readonly string[] | undefined;
}

export interface PlannedJob {
  readonly job: SourceJob;
  readonly prepared: PreparedJob;
}

export interface PlannedSchedule {
  readonly schedule: SourceSchedule;
  readonly tenantId: string;
  readonly type: string;
}

/** Something that stays in the source, and why. */
export interface Refusal {
  readonly reason: string;
}

export function isRefusal(planned: object): planned is Refusal {
  return "reason" in planned;
}

export function typeOf(name: string, { map, prefix }: Mapping): string {
  return map.get(name) ?? `${prefix}${name}`;
}

export function planJob(job: SourceJob, mapping: Mapping): PlannedJob | Refusal {
  if (job.problem !== undefined) return { reason: job.problem };
  if (job.payload === undefined) return { reason: "its payload is over 1 MiB" };
  const type = typeOf(job.name, mapping);
  const wrong = problemOfType(type) ?? problemOfPayload(job.payload);
  if (wrong !== undefined) return { reason: wrong };
  const tenantId = tenantIn(() => JSON.parse(job.payload ?? "null") as unknown, mapping);
  if (tenantId === undefined) return { reason: noTenant(mapping) };
  return {
    job,
    prepared: { tenantId, type, payload: new JsonText(job.payload), keys: keysOf(job, mapping) },
  };
}

export function planSchedule(schedule: SourceSchedule, mapping: Mapping): PlannedSchedule | Refusal {
  if (schedule.problem !== undefined) return { reason: schedule.problem };
  const type = typeOf(schedule.name, mapping);
  const wrong = problemOfType(type);
  if (wrong !== undefined) return { reason: wrong };
  const tenantId = tenantIn(() => schedule.payload, mapping);
  return tenantId === undefined ? { reason: noTenant(mapping) } : { schedule, tenantId, type };
}

/** The other options of the job, under the kernel's keys. */
function keysOf(job: SourceJob, { source }: Mapping): Record<string, unknown> {
  const { id, createdAt, runAt, priority, attemptsLeft, dedupeKey, concurrencyKey, tags } = job;
  return {
    idempotency_key: createdAt === undefined ? `${source}-${id}` : `${source}-${id}-${createdAt}`,
    run_at: runAt,
    priority: Math.min(bounds.priority.max, Math.max(bounds.priority.min, priority)),
    max_attempts: attemptsLeft,
    dedupe_key: dedupeKey,
    concurrency_key: concurrencyKey,
    tags: tags === undefined || tags.length === 0 ? undefined : tags,
  };
}

function tenantIn(payload: () => unknown, { tenant, tenantFrom }: Mapping): string | undefined {
  if (tenantFrom === undefined) return tenant ?? globalTenant;
  let value = payload();
  for (const key of tenantFrom)
    value = typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined;
  return value === undefined || value === null ? tenant : tenantOf(value);
}

function noTenant({ tenantFrom = [] }: Mapping): string {
  return `it has no valid tenant at ${tenantFrom.join(".")} of its payload`;
}

function problemOfType(type: string): string | undefined {
  try {
    defineJob({ type });
    return undefined;
  } catch (error) {
    return whyRefused(error);
  }
}

/** Finds what makes a whole batch fail in the database. Other rules are checked there. */
function problemOfPayload(payload: string): string | undefined {
  if (Buffer.byteLength(payload) > maxPayloadBytes) return "its payload is over 1 MiB";
  if (!payload.includes("\\u")) return undefined;
  try {
    toJson(JSON.parse(payload) as unknown, "payload");
    return undefined;
  } catch (error) {
    return whyRefused(error);
  }
}

/** Returns why JobForge refused a value, as a reason in the report: without the number of the job in its batch. */
export function whyRefused(error: unknown): string {
  const message = messageOf(error);
  return message
    .replace(/^Invalid argument: /, "")
    .replace(/^job \d+: /, "")
    .replace(/jobs\[\d+\]\./, "");
}
