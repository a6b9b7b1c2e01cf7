/**
 * Checks arguments before any round trip, with the bounds of the kernel. Each error names the field and says what is
 * allowed.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { definitionAliases, enqueueAliases, retryAliases } from "./aliases.ts";
import type { EnqueueOptions, JobDefinitionOptions, RetryPolicy } from "./define/definition.ts";
import { InvalidArgumentError, TenantRequiredError } from "./errors.ts";
import type { PolicyChanges } from "./groups/policies.ts";
import { type Aliases, suggest } from "./suggest.ts";
import { type Bounds, bounds, dedupeModes, retryPresetNames, retryPresets } from "./words.ts";

/** The tenant of work that belongs to no tenant. */
export const globalTenant = "00000000-0000-0000-0000-000000000000";

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const traceparent = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: a type must not contain them
const controlCharacters = /[\u0000-\u001f\u007f-\u009f]/;

function refuse(field: string, message: string, hint?: string): never {
  throw new InvalidArgumentError(`Invalid argument: ${field} ${message}`, { field, hint });
}

export function checkUuid(value: unknown, field: string, hint?: string): void {
  if (typeof value !== "string" || !uuid.test(value)) refuse(field, "must be a uuid", hint);
}

/** Returns a value that must be an object. Plain JavaScript may pass anything. */
export function requireObject<T>(value: T, field: string, hint: string): T {
  if (typeof value !== "object" || value === null)
    refuse(field, `must be an object, not ${describe(value)}`, hint);
  return value;
}

function describe(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  return typeof value === "string" ? "a text" : Array.isArray(value) ? "an array" : `a ${typeof value}`;
}

/** Refuses options that do not exist, and names the one that was probably meant. */
export function checkKnown(
  options: object,
  known: readonly string[],
  { at = "", aliases = {}, what = "option" }: { at?: string; aliases?: Aliases; what?: string } = {},
): void {
  for (const name of Object.keys(options))
    if (!known.includes(name) && (options as Record<string, unknown>)[name] !== undefined)
      refuse(`${at}${name}`, `is not a known ${what}`, suggest(name, known, aliases));
}

export function checkTenant(tenantId: unknown, field = "tenantId"): void {
  if (tenantId === undefined || tenantId === null)
    throw new TenantRequiredError(`${field} is required`, {
      field,
      hint:
        `Pass the tenant's uuid, or tenantId("org_123") for an id of another form, or globalTenant (${globalTenant}) ` +
        "for work that belongs to no tenant.",
    });
  checkUuid(
    tenantId,
    field,
    `If your tenants have ids of another form, pass tenantId(${inCode(tenantId)}), which is always the same uuid.`,
  );
}

/** Checks the object by which a call names the tenant of a job or schedule. */
export function checkTenantOf(reference: { readonly tenantId: string } | undefined): void {
  if (reference !== undefined) requireObject(reference, "options", "Pass { tenantId }.");
  checkTenant(reference?.tenantId);
}

/** The value as a program would write it, if that is short. */
function inCode(value: unknown): string {
  const isShort =
    (typeof value === "string" && value !== "" && value.length <= 40) || typeof value === "number";
  return isShort ? JSON.stringify(value) : '"org_123"';
}

/** Checks a definition that defineJob may not have created. */
export function checkDefinitionOf(job: unknown, at = ""): void {
  if (typeof job === "string")
    refuse(
      `${at}job`,
      `must be a definition, not the text ${JSON.stringify(job.slice(0, 200))}`,
      `Define the job once with defineJob({ type: ${JSON.stringify(job.slice(0, 200))} }), and pass the definition.`,
    );
  if (typeof job !== "object" || job === null)
    refuse(
      `${at}job`,
      `must be a definition, not ${describe(job)}`,
      "Pass what defineJob({ type }) returns.",
    );
  if ("definition" in job && !("type" in job))
    refuse(`${at}job`, "must be a definition, not a handler", "Pass what defineJob({ type }) returns.");
  checkType((job as { type?: unknown }).type, `${at}type`);
}

export function checkType(type: unknown, field = "type"): void {
  if (type === undefined || type === null) refuse(field, "is required", 'Pass a text such as "mail.send".');
  if (typeof type !== "string") refuse(field, `must be a text, not ${describe(type)}`);
  if (type.trim() === "") refuse(field, "must not be empty");
  if (type.length > bounds.typeLength.max)
    refuse(field, `must not be longer than ${bounds.typeLength.max} characters`);
  if (controlCharacters.test(type)) refuse(field, "must not contain control characters");
  if (type === "*") refuse(field, 'must not be "*", which is the name of the default policy');
}

/** A whole number within bounds. */
export function checkRange(value: unknown, field: string, { min, max }: Bounds): void {
  if (!Number.isInteger(value) || Number(value) < min || Number(value) > max)
    refuse(field, `must be a whole number between ${min} and ${max}`);
}

/** A time that both JSON and Postgres can store. An invalid Date serializes to null, which has another meaning. */
export function checkDate(value: unknown, field: string): void {
  if (!(value instanceof Date) || Number.isNaN(value.getTime())) refuse(field, "must be a valid Date");
  const year = value.getUTCFullYear();
  if (year < 1 || year > 9999) refuse(field, "must be a time from year 1 to year 9999");
}

/** A timeout: any number of milliseconds from 0 on. Infinity means no limit. */
export function checkTimeout(value: unknown, field = "timeoutMs"): void {
  if (typeof value !== "number" || !(value >= 0))
    refuse(field, "must be a number of milliseconds, 0 or more, or Infinity");
}

/** A text that is stored as it is: not empty, without NUL characters, and no longer in bytes than the bounds allow. */
export function checkText(value: unknown, field: string, { max }: Bounds = bounds.keyBytes): void {
  if (typeof value !== "string" || value === "" || Buffer.byteLength(value) > max)
    refuse(field, `must be a text of 1 to ${max} bytes`);
  if (value.includes("\u0000")) refuse(field, "must not contain a NUL character");
}

export function checkTags(tags: unknown, field: string): void {
  if (!Array.isArray(tags)) refuse(field, "must be an array of texts");
  if (tags.length > bounds.tags.max) refuse(field, `must not have more than ${bounds.tags.max} elements`);
  const { tagBytes } = bounds;
  for (const [index, tag] of tags.entries()) checkText(tag, `${field}[${index}]`, tagBytes);
  if (Buffer.byteLength(tags.join("")) > tagBytes.max)
    refuse(field, `must not have more than ${tagBytes.max} bytes in total`);
}

/** Checks the options of an enqueue. `at` is a prefix for the names of fields in errors, such as `jobs[3].`. */
export function checkEnqueueOptions(options: Partial<EnqueueOptions>, tenantId: unknown, at = ""): void {
  checkTenant(tenantId, `${at}tenantId`);
  checkGiven(options, at, enqueueChecks);
  const { runAt, delayMs, expiresAt } = options;
  if (runAt !== undefined && delayMs !== undefined)
    refuse(`${at}delayMs`, "must not be given together with runAt");
  if (runAt !== undefined && expiresAt !== undefined && expiresAt <= runAt)
    refuse(`${at}expiresAt`, "must be later than runAt, or the job would never start");
}

/** Refuses options of an enqueue that do not exist. */
export function checkOptionNames(options: object, at = ""): void {
  checkKnown(options, enqueueOptionNames, { at, aliases: enqueueAliases });
}

type Check = (value: unknown, field: string) => unknown;

/** Runs the check of every option that is given. Options without a check are accepted. */
function checkGiven<O extends object>(
  options: O,
  at: string,
  checks: { readonly [K in keyof O]?: Check },
): void {
  for (const name of Object.keys(options) as (keyof O & string)[])
    if (options[name] !== undefined) checks[name]?.(options[name], `${at}${name}`);
}

export function checkMaxAttempts(value: unknown, field: string): void {
  checkRange(value, field, bounds.maxAttempts);
}

export function checkPriority(value: unknown, field: string): void {
  checkRange(value, field, bounds.priority);
}

function checkTraceparent(value: unknown, field: string): void {
  if (typeof value !== "string" || !traceparent.test(value))
    refuse(field, "must be a W3C trace context header");
}

function checkDedupeMode(value: unknown, field: string): void {
  checkOneOf(value, field, dedupeModes);
}

export function checkOneOf(value: unknown, field: string, allowed: readonly string[]): void {
  if (typeof value !== "string" || !allowed.includes(value))
    refuse(field, `must be one of ${allowed.join(", ")}`);
}

const enqueueChecks: { readonly [K in Exclude<keyof EnqueueOptions, "tenantId">]-?: Check } = {
  idempotencyKey: checkText,
  dedupeKey: checkText,
  subject: checkText,
  concurrencyKey: checkText,
  runAt: checkDate,
  delayMs: within(bounds.delayMs),
  expiresAt: checkDate,
  tags: checkTags,
  maxAttempts: checkMaxAttempts,
  priority: checkPriority,
  traceparent: checkTraceparent,
  dedupeMode: checkDedupeMode,
};

const enqueueOptionNames: readonly string[] = ["tenantId", ...Object.keys(enqueueChecks)];

function within(allowed: Bounds): Check {
  return (value, field) => checkRange(value, field, allowed);
}

/** A number within bounds, not necessarily a whole one. */
function numberWithin({ min, max }: Bounds): Check {
  return (value, field) => {
    if (typeof value !== "number" || !(value >= min && value <= max))
      refuse(field, `must be a number between ${min} and ${max}`);
  };
}

const retryChecks: { readonly [K in keyof RetryPolicy]-?: Check } = {
  baseMs: within(bounds.retryMs),
  capMs: orNull(within(bounds.retryMs)),
  factor: numberWithin(bounds.retryFactor),
  jitter: numberWithin(bounds.retryJitter),
  maxAttempts: checkMaxAttempts,
};

function orNull(check: Check): Check {
  return (value, field) => value !== null && check(value, field);
}

function checkAuditAction(value: unknown, field: string): void {
  checkText(value, field, bounds.auditActionBytes);
}

function checkPreset(value: unknown, field: string): void {
  if (typeof value !== "string" || !Object.hasOwn(retryPresets, value))
    checkOneOf(value, field, retryPresetNames);
}

const policyChecks: { readonly [K in keyof PolicyChanges]-?: Check } = {
  ...retryChecks,
  preset: checkPreset,
  timeoutMs: orNull(within(bounds.timeoutMs)),
  leaseMs: orNull(within(bounds.leaseMs)),
  auditAction: orNull(checkAuditAction),
  keepHistory: checkBoolean,
  retentionDays: orNull(within(bounds.retentionDays)),
  maxPriority: orNull(checkPriority),
  redact: checkTags,
};

export function checkPolicy(changes: PolicyChanges): void {
  requireObject(changes, "changes", "Pass the settings to change, such as { maxAttempts: 3 }.");
  checkKnown(changes, Object.keys(policyChecks), { aliases: retryAliases });
  checkGiven(changes, "", policyChecks);
}

type DefinitionOptions = JobDefinitionOptions<string, StandardSchemaV1, StandardSchemaV1>;

const definitionChecks: { readonly [K in keyof DefinitionOptions]-?: Check } = {
  type: checkType,
  input: checkSchema,
  output: checkSchema,
  retry: checkRetry,
  timeoutMs: orNull(within(bounds.timeoutMs)),
  leaseMs: within(bounds.leaseMs),
  priority: checkPriority,
  maxPriority: checkPriority,
  auditAction: checkAuditAction,
  keepHistory: checkBoolean,
  retentionDays: within(bounds.retentionDays),
  tags: checkTags,
  redact: checkTags,
  dedupe: checkFunction,
  dedupeMode: checkDedupeMode,
  subject: checkFunction,
};

const definitionNames = Object.keys(definitionChecks);

/** Checks a definition, so that a mistake in it is found when the program starts. */
export function checkDefinition(options: DefinitionOptions): void {
  requireObject(
    options,
    "options",
    `Pass defineJob({ type: ${typeof options === "string" ? inCode(options) : '"mail.send"'} }).`,
  );
  // A definition may be made from another one, which has these two functions as well.
  const { handle: _, handleBatch: __, ...own } = options as DefinitionOptions & Record<string, unknown>;
  checkKnown(own, definitionNames, { aliases: definitionAliases });
  checkType(options.type);
  checkGiven(options, "", definitionChecks);
}

function checkRetry(value: unknown, field: string): void {
  if (typeof value === "string") {
    checkPreset(value, field);
    return;
  }
  if (typeof value !== "object" || value === null)
    refuse(
      field,
      `must be a preset or an object, not ${describe(value)}`,
      `Pass one of ${Object.keys(retryPresets).join(", ")}, or numbers such as { maxAttempts: 3 }.`,
    );
  checkKnown(value, Object.keys(retryChecks), { at: `${field}.`, aliases: retryAliases });
  checkGiven(value as RetryPolicy, `${field}.`, retryChecks);
}

/** A function that the caller must pass. The hint is a sample. */
export function checkFunction(value: unknown, field: string, hint?: string): void {
  if (typeof value !== "function") refuse(field, `must be a function, not ${describe(value)}`, hint);
}

function checkBoolean(value: unknown, field: string): void {
  if (typeof value !== "boolean") refuse(field, "must be true or false");
}

function checkSchema(value: unknown, field: string): void {
  const isSchema =
    (typeof value === "object" || typeof value === "function") && value !== null && "~standard" in value;
  if (!isSchema) refuse(field, "must be a Standard Schema, such as a schema of zod, valibot or arktype");
}
