/** Converts drawn values for the model and the kernel: jobs to enqueue, filters, times and tenants. */
import { largePayload } from "../../../support/archive.ts";
import { isValid } from "../enqueue.ts";
import { boundTenant, tenantIds } from "../kernel.ts";
import type { Payload, Spec, Status } from "../state.ts";
import type { Filter } from "../steer.ts";
import { type DrawnFilter, type DrawnJob, typeNames } from "../steps.ts";
import type { Stage } from "./stage.ts";

export const tagNames = ["red", "green", "blue"] as const;
export const statusNames: readonly Status[] = [
  "queued",
  "running",
  "succeeded",
  "failed",
  "dead",
  "canceled",
];
/** The message of failing handlers, which filters search for. */
export const boomMessage = "boom";

/** Returns the elements that the bits of a number select. */
export function bits<Element>(elements: readonly Element[], number: number): Element[] {
  return elements.filter((_, index) => ((number >> index) & 1) === 1);
}

/** Returns a time of the frozen clock as text. */
export function time(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

export function tenantOf(stage: Stage, number: number): string {
  return tenantIds[number % stage.breadth.tenants] ?? boundTenant;
}

export function typeOf(stage: Stage, number: number): string {
  return typeNames[number % stage.breadth.types] ?? "a";
}

/** Returns a tenant's short name for the report. */
export function shown(tenant: string): string {
  return `t${tenantIds.findIndex((known) => tenant.startsWith(known))}`;
}

export function payloadDocument(payload: Payload): Record<string, unknown> {
  return payload.large ? { mark: payload.mark, ...largePayload } : { mark: payload.mark };
}

/** Returns the job to enqueue that a step drew. */
export function specOf(stage: Stage, drawn: DrawnJob): Spec {
  const runAt = drawn.runIn === null ? null : stage.now + drawn.runIn;
  return {
    type: typeOf(stage, drawn.type),
    payload: { mark: stage.nextMark(), large: drawn.isLarge },
    priority: stage.breadth.hasPriorities ? drawn.priority : 0,
    runAt,
    maxAttempts: drawn.maxAttempts,
    idempotencyKey: drawn.key === null ? null : `k${drawn.key}`,
    dedupeKey: drawn.dedupe === null ? null : `d${drawn.dedupe}`,
    // A mode other than skip needs a key.
    dedupeMode: drawn.dedupe === null ? "skip" : drawn.mode,
    tags: bits(tagNames, drawn.tags),
    subject: drawn.subject === null ? null : `s${drawn.subject}`,
    expiresAt: drawn.expiresIn === null ? null : Math.max(stage.now, runAt ?? 0) + drawn.expiresIn,
  };
}

/** Returns a job as jobforge_enqueue_jobs takes it. */
export function documentOf(spec: Spec): Record<string, unknown> {
  return {
    type: spec.type,
    payload: payloadDocument(spec.payload),
    priority: spec.priority,
    run_at: time(spec.runAt),
    max_attempts: spec.maxAttempts,
    idempotency_key: spec.idempotencyKey,
    dedupe_key: spec.dedupeKey,
    dedupe_mode: spec.dedupeMode,
    tags: spec.tags,
    subject: spec.subject,
    expires_at: time(spec.expiresAt),
  };
}

/** Describes a job to enqueue in a few words. */
export function describeSpec(stage: Stage, spec: Spec): string {
  const words = [
    spec.type,
    spec.priority === 0 ? "" : `priority ${spec.priority}`,
    spec.runAt === null ? "" : `in ${(spec.runAt - stage.now) / 1000} s`,
    spec.maxAttempts === null ? "" : `max ${spec.maxAttempts}`,
    spec.idempotencyKey ?? "",
    spec.dedupeKey === null ? "" : `${spec.dedupeKey} ${spec.dedupeMode}`,
    spec.tags.join("+"),
    spec.subject ?? "",
    spec.expiresAt === null ? "" : `expires in ${(spec.expiresAt - stage.now) / 1000} s`,
    spec.payload.large ? "large" : "",
    isValid(spec, stage.now) ? "" : "invalid",
  ];
  return words.filter((word) => word !== "").join(" ");
}

/** Returns the filter that a step drew. */
export function filterOf(drawn: DrawnFilter): Filter {
  return {
    statuses: drawn.statuses === null ? null : bits(statusNames, drawn.statuses),
    types: drawn.types === null ? null : bits(typeNames, drawn.types),
    tags: drawn.tags === null ? null : bits(tagNames, drawn.tags),
    subject: drawn.subject === null ? null : `s${drawn.subject}`,
    errorContains: drawn.error ? boomMessage : null,
  };
}

/** Returns a filter as a document for the kernel, without its nulls. */
export function filterDocument(filter: Filter): Record<string, unknown> {
  const { statuses, types, tags, subject, errorContains } = filter;
  const all = { status: statuses, type: types, tags, subject, error_contains: errorContains };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null));
}
