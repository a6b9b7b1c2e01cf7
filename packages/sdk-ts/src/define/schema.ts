/** Checks values with Standard Schemas. Asynchronous schemas are awaited. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { InvalidValueError, type InvalidValueIssue } from "../errors.ts";
import type { JobDefinition } from "./definition.ts";

/** What the schema makes of a value. Fails with an InvalidValueError that names the place, such as `payload.lines[0].price`. */
export async function checkValue(
  schema: StandardSchemaV1 | undefined,
  value: unknown,
  field: string,
): Promise<unknown> {
  if (schema === undefined) return value;
  const checked = schema["~standard"].validate(value);
  const result = checked instanceof Promise ? await checked : checked;
  if (result.issues === undefined) return result.value;
  const issues = result.issues.map(readIssue);
  const [first] = issues;
  const place = `${field}${describePath(first?.path ?? [])}`;
  const more = issues.length > 1 ? ` (and ${issues.length - 1} more)` : "";
  throw new InvalidValueError(`${place}: ${first?.message ?? "invalid"}${more}`, issues, { field: place });
}

/** What a handler is given for a payload. */
export function checkInput(job: JobDefinition, payload: unknown): Promise<unknown> {
  return checkValue(job.input, payload, "payload");
}

/** What a waiting caller is given for what a handler returned. Workers check with it, and store what was returned. */
export function checkOutput(job: JobDefinition, returned: unknown): Promise<unknown> {
  return checkValue(job.output, returned, "output");
}

function readIssue(issue: StandardSchemaV1.Issue): InvalidValueIssue {
  const path = (issue.path ?? []).map((segment) => (typeof segment === "object" ? segment.key : segment));
  return { message: issue.message, path };
}

function describePath(path: readonly PropertyKey[]): string {
  return path.map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`)).join("");
}

/**
 * A schema that checks nothing and only gives a type, for payloads that need no more: `input: typed<{ orderId: number }>()`.
 */
export function typed<T>(): StandardSchemaV1<T, T> {
  return {
    "~standard": { version: 1, vendor: "jobforge", validate: (value) => ({ value: value as T }) },
  };
}
