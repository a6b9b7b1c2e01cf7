/** Validates values with Standard Schemas. Asynchronous schemas are awaited. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { InvalidValueError, type InvalidValueIssue } from "../errors.ts";
import type { JobDefinition } from "./definition.ts";

/**
 * Returns the output of the schema, or a promise of it if the schema is asynchronous. Throws an InvalidValueError that
 * names the place, such as `payload.lines[0].price`.
 */
export function checkValue(
  schema: StandardSchemaV1 | undefined,
  value: unknown,
  field: string,
): unknown | Promise<unknown> {
  if (schema === undefined) return value;
  const checked = schema["~standard"].validate(value);
  return checked instanceof Promise
    ? checked.then((result) => outputOf(result, field))
    : outputOf(checked, field);
}

function outputOf(result: StandardSchemaV1.Result<unknown>, field: string): unknown {
  if (result.issues === undefined) return result.value;
  const issues = result.issues.map(readIssue);
  const [first] = issues;
  const place = `${field}${describePath(first?.path ?? [])}`;
  const more = issues.length > 1 ? ` (and ${issues.length - 1} more)` : "";
  throw new InvalidValueError(`${place}: ${first?.message ?? "invalid"}${more}`, issues, { field: place });
}

/** The input of the handler for a payload. */
export async function checkInput(job: JobDefinition, payload: unknown): Promise<unknown> {
  return await checkValue(job.input, payload, "payload");
}

/**
 * The result for a waiting caller. Workers use this to check what a handler returned, but store it as it was returned.
 */
export async function checkOutput(job: JobDefinition, returned: unknown): Promise<unknown> {
  return await checkValue(job.output, returned, "output");
}

function readIssue(issue: StandardSchemaV1.Issue): InvalidValueIssue {
  const path = (issue.path ?? []).map((segment) => (typeof segment === "object" ? segment.key : segment));
  return { message: issue.message, path };
}

function describePath(path: readonly PropertyKey[]): string {
  return path.map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`)).join("");
}

/** A schema that checks nothing and only has a type: `input: typed<{ orderId: number }>()`. */
export function typed<T>(): StandardSchemaV1<T, T> {
  return {
    "~standard": { version: 1, vendor: "jobforge", validate: (value) => ({ value: value as T }) },
  };
}
