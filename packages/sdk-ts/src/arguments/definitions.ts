/** Checks of definitions and policies, so that a mistake is found when the program starts. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { definitionAliases, retryAliases } from "../aliases.ts";
import type { JobDefinitionOptions, RetryPolicy } from "../define/definition.ts";
import type { PolicyChanges } from "../groups/policies.ts";
import { bounds, keepLogsModes, retryPresetNames, retryPresets } from "../words.ts";
import { checkDedupeMode, checkMaxAttempts, checkPriority } from "./enqueue.ts";
import { checkType, inCode } from "./names.ts";
import {
  type Check,
  checkBoolean,
  checkFunction,
  checkGiven,
  checkKnown,
  checkOneOf,
  checkTags,
  checkText,
  describe,
  numberWithin,
  orNull,
  refuse,
  requireObject,
  within,
} from "./values.ts";

const retryChecks: { readonly [K in keyof RetryPolicy]-?: Check } = {
  baseMs: within(bounds.retryMs),
  capMs: orNull(within(bounds.retryMs)),
  factor: numberWithin(bounds.retryFactor),
  jitter: numberWithin(bounds.retryJitter),
  maxAttempts: checkMaxAttempts,
};

function checkAuditAction(value: unknown, field: string): void {
  checkText(value, field, bounds.auditActionBytes);
}

function checkPreset(value: unknown, field: string): void {
  if (typeof value !== "string" || !Object.hasOwn(retryPresets, value))
    checkOneOf(value, field, retryPresetNames);
}

function checkKeepLogs(value: unknown, field: string): void {
  checkOneOf(value, field, keepLogsModes);
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
  keepLogs: checkKeepLogs,
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
  keepLogs: checkKeepLogs,
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
      `Pass one of ${retryPresetNames.join(", ")}, or numbers such as { maxAttempts: 3 }.`,
    );
  checkKnown(value, Object.keys(retryChecks), { at: `${field}.`, aliases: retryAliases });
  checkGiven(value as RetryPolicy, `${field}.`, retryChecks);
}

function checkSchema(value: unknown, field: string): void {
  const isSchema =
    (typeof value === "object" || typeof value === "function") && value !== null && "~standard" in value;
  if (!isSchema)
    refuse(
      field,
      "must be a Standard Schema, such as a schema of zod, valibot or arktype",
      "Pass z.object({ … }), or typed<{ … }>() for a type that is not checked.",
    );
}
