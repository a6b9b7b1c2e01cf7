/** Checks of the options of an enqueue, before any round trip, with the bounds of the kernel. */
import { enqueueAliases } from "../aliases.ts";
import type { EnqueueOptions } from "../define/definition.ts";
import type { NotifyOptions } from "../define/webhook.ts";
import { bounds, dedupeModes, notifyStatuses } from "../words.ts";
import { checkTenant } from "./names.ts";
import {
  type Check,
  checkDate,
  checkGiven,
  checkKnown,
  checkOneOf,
  checkRange,
  checkTags,
  checkText,
  checkUuid,
  millisecondsHint,
  refuse,
  requireObject,
} from "./values.ts";

const traceparent = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** Checks the options of an enqueue. `at` is a prefix for the names of fields in errors, such as `jobs[3].`. */
export function checkEnqueueOptions(options: Partial<EnqueueOptions>, tenantId: unknown, at = ""): void {
  checkTenant(tenantId, `${at}tenantId`);
  checkGiven(options, at, enqueueChecks);
  const { runAt, delayMs, expiresAt } = options;
  if (runAt !== undefined && delayMs !== undefined)
    refuse(`${at}delayMs`, "must not be given together with runAt", "Pass one of the two.");
  if (runAt !== undefined && expiresAt !== undefined && expiresAt <= runAt)
    refuse(`${at}expiresAt`, "must be later than runAt, or the job would never start");
}

/** Refuses options of an enqueue that do not exist. */
export function checkOptionNames(options: object, at = ""): void {
  checkKnown(options, enqueueOptionNames, { at, aliases: enqueueAliases });
}

export function checkMaxAttempts(value: unknown, field: string): void {
  checkRange(value, field, bounds.maxAttempts);
}

export function checkPriority(value: unknown, field: string): void {
  checkRange(value, field, bounds.priority);
}

function checkDelay(value: unknown, field: string): void {
  if (typeof value !== "number") refuse(field, "must be a number of milliseconds", millisecondsHint);
  checkRange(value, field, bounds.delayMs);
}

function checkTraceparent(value: unknown, field: string): void {
  if (typeof value !== "string" || !traceparent.test(value))
    refuse(field, "must be a W3C trace context header");
}

function checkFlag(value: unknown, field: string): void {
  if (typeof value !== "boolean") refuse(field, "must be true or false");
}

export function checkDedupeMode(value: unknown, field: string): void {
  checkOneOf(value, field, dedupeModes);
}

/** The kernel checks the URL and the name of the secret. */
function checkNotify(value: unknown, field: string): void {
  const hint = 'Pass { url: "https://example.com/done" } or { endpointId }.';
  const notify = requireObject(value, field, hint) as NotifyOptions;
  checkKnown(notify, ["url", "secret", "endpointId", "on"], { at: `${field}.` });
  if ((notify.url === undefined) === (notify.endpointId === undefined))
    refuse(field, "must have one of url and endpointId", hint);
  if (notify.endpointId !== undefined) checkUuid(notify.endpointId, `${field}.endpointId`);
  for (const status of notify.on ?? []) checkOneOf(status, `${field}.on`, notifyStatuses);
}

const enqueueChecks: { readonly [K in Exclude<keyof EnqueueOptions, "tenantId">]-?: Check } = {
  idempotencyKey: checkText,
  dedupeKey: checkText,
  subject: checkText,
  concurrencyKey: checkText,
  runAt: checkDate,
  delayMs: checkDelay,
  expiresAt: checkDate,
  tags: checkTags,
  maxAttempts: checkMaxAttempts,
  priority: checkPriority,
  traceparent: checkTraceparent,
  offload: checkFlag,
  dedupeMode: checkDedupeMode,
  notify: checkNotify,
};

const enqueueOptionNames: readonly string[] = ["tenantId", ...Object.keys(enqueueChecks)];
