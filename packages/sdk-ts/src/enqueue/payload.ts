/** Checks payloads: a schema checks the JSON form of a payload, because that is what the handler will get. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { checkValue } from "../define/schema.ts";
import { InvalidArgumentError, InvalidValueError } from "../errors.ts";
import { type JsonText, toCheckedJson } from "../json.ts";

export interface CheckedPayload {
  readonly json: JsonText;
  /** The output of the schema; a promise if the schema is asynchronous. */
  readonly checked: unknown;
}

/** Throws if the payload cannot be stored, or if the schema refuses it. An asynchronous schema rejects instead. */
export function checkPayload(
  schema: StandardSchemaV1 | undefined,
  payload: unknown,
  field: string,
  maxBytes?: number,
): CheckedPayload {
  if (payload === null || payload === undefined) throw noInput(field, String(payload));
  const { json, changes } = toCheckedJson(payload, field, maxBytes);
  if (json.text === "null") throw noInput(field, "null in JSON");
  // Most payloads are their own JSON form.
  const form: unknown = changes ? JSON.parse(json.text) : payload;
  if (schema === undefined) return { json, checked: form };
  try {
    const checked = checkValue(schema, form, field);
    return {
      json,
      checked:
        checked instanceof Promise ? checked.catch((error) => explain(error, payload, field)) : checked,
    };
  } catch (error) {
    return explain(error, payload, field);
  }
}

function noInput(field: string, what: string): InvalidArgumentError {
  return new InvalidArgumentError(`Invalid argument: ${field} must not be ${what}`, {
    field,
    hint: "Pass {} for a job that needs no input.",
  });
}

/** Throws the error of a schema. If the schema wants a Date, which no JSON has, the error says what to do. */
function explain(error: unknown, payload: unknown, field: string): never {
  const [first] = error instanceof InvalidValueError ? error.issues : [];
  if (first === undefined || !(valueAt(payload, first.path) instanceof Date)) throw error;
  const { message, issues, field: place = field } = error as InvalidValueError;
  throw new InvalidValueError(message, issues, {
    field: place,
    hint:
      "A Date is stored as a text. Use z.coerce.date() to get a Date in the handler, or z.iso.datetime() and pass " +
      "date.toISOString().",
  });
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let found = value;
  for (const key of path) found = (found as Record<PropertyKey, unknown> | undefined | null)?.[key];
  return found;
}
