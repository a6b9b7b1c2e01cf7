/**
 * JSON that Postgres can store. A value that cannot be stored is refused with its place, or replaced if the work is
 * already done.
 */
import { InvalidArgumentError, PayloadTooLargeError } from "./errors.ts";
import { type Inspection, inspect, plainHint } from "./losses.ts";

/** The kernel's limit for payloads and results. */
export const maxPayloadBytes: number = 1024 * 1024;

/**
 * JSON that is already text. Transports pass it on as it is, so a payload is serialized once and never parsed on the
 * way.
 */
export class JsonText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/**
 * A value as JSON text. Refuses values that would be lost or would fail in the database, and names their place: Map,
 * Set, Error, Buffer, NaN, functions, symbols, BigInt, cycles, NUL characters, unpaired surrogates, and text over the
 * size limit. Properties that are undefined are left out.
 */
export function toJson(value: unknown, field: string, maxBytes: number = maxPayloadBytes): JsonText {
  return toCheckedJson(value, field, maxBytes).json;
}

/** What `toJson` does. `changes` says whether the JSON form differs from the value. */
export function toCheckedJson(
  value: unknown,
  field: string,
  maxBytes: number = maxPayloadBytes,
): { readonly json: JsonText; readonly changes: boolean } {
  const { changes } = refuseLoss(value, field, "refuse");
  const text = stringify(value, field);
  if (hasUnstorable(text)) {
    const place = findPlace(
      value,
      (each) => typeof each === "string" && unstorable.test(JSON.stringify(each)),
      true,
    );
    throw new InvalidArgumentError(`${field}${place} has a character that Postgres cannot store`, {
      field: `${field}${place}`,
      hint: "Remove NUL characters and unpaired surrogates, or encode binary data, for example as base64.",
    });
  }
  // A character has at most three bytes here, so most texts are known to fit without counting.
  if (text.length * 3 > maxBytes && Buffer.byteLength(text) > maxBytes)
    throw new PayloadTooLargeError(`Payload too large: ${field} is over ${describeBytes(maxBytes)}`, {
      field,
    });
  return { json: new JsonText(text), changes };
}

/**
 * The result of a handler as its readers get it, which is its JSON form. Refuses a result that JSON would not keep,
 * and names the place. Functions and symbols are dropped: they are not data.
 */
export function resultForm(result: unknown, field: string): unknown {
  const { changes } = checkResult(result, field);
  return changes && result !== undefined ? JSON.parse(toStorableJson(result, field).text) : result;
}

/** Refuses a result or progress value that JSON would not keep, such as a Map, an Error, a Buffer or NaN. */
export function checkResult(value: unknown, field: string): Inspection {
  return refuseLoss(value, field, "drop");
}

function refuseLoss(value: unknown, field: string, code: "refuse" | "drop"): Inspection {
  const inspection = inspectIfPossible(value, code);
  const { loss } = inspection;
  if (loss === undefined) return inspection;
  throw new InvalidArgumentError(`${field}${loss.place} cannot be written as JSON: ${loss.reason}`, {
    field: `${field}${loss.place}`,
    hint: loss.hint,
  });
}

/** Leaves a cycle, which overflows the stack, and a getter that throws to JSON.stringify, which reports them. */
function inspectIfPossible(value: unknown, code: "refuse" | "drop"): Inspection {
  try {
    return inspect(value, code);
  } catch {
    return { loss: undefined, changes: true };
  }
}

/**
 * A value as JSON text that Postgres accepts: characters it cannot store become U+FFFD. For results and errors of runs
 * that have ended.
 */
export function toStorableJson(value: unknown, field: string): JsonText {
  const text = stringify(value, field);
  return new JsonText(hasUnstorable(text) ? text.replaceAll(unstorables, "$1\\ufffd") : text);
}

/**
 * Finds an escaped NUL or unpaired surrogate in JSON text. JSON.stringify writes only these as \u0000 and \ud…. An
 * escaped backslash followed by u0000 is ordinary text.
 */
const escapes = String.raw`((?<!\\)(?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})`;
const unstorable = new RegExp(escapes);
const unstorables = new RegExp(escapes, "g");

/** Most texts have no escape at all. Searching for one first takes a tenth of the time. */
function hasUnstorable(text: string): boolean {
  return text.includes("\\u") && unstorable.test(text);
}

function stringify(value: unknown, field: string): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    if (isOverflow(error)) throw unserialisable(field, "it is nested too deeply", error);
    const big = findPlace(value, (each) => typeof each === "bigint", true);
    if (big !== "" || typeof value === "bigint")
      throw unserialisable(`${field}${big}`, "a BigInt has no JSON form", error, "Pass String(value).");
    const place = findCycle(value);
    throw unserialisable(
      `${field}${place}`,
      error instanceof Error && typeof error.message === "string"
        ? firstLine(error.message)
        : "a getter or toJSON() threw",
      error,
    );
  }
  if (text === undefined) throw unserialisable(field, `${describeKind(value)} has no JSON form`);
  return text;
}

function unserialisable(
  field: string,
  reason: string,
  cause?: unknown,
  hint: string = plainHint,
): InvalidArgumentError {
  return new InvalidArgumentError(`${field} cannot be written as JSON: ${reason}`, { field, hint, cause });
}

/** The path to the first matching value, such as `.lines[0].price`. Empty if the value itself matches or none does. */
function findPlace(value: unknown, matches: (value: unknown) => boolean, acyclic: boolean): string {
  const seen = new Set<unknown>();
  const walk = (each: unknown, path: string): string | undefined => {
    if (matches(each)) return path;
    if (typeof each !== "object" || each === null || (acyclic && seen.has(each))) return undefined;
    seen.add(each);
    for (const [key, inner] of Object.entries(each)) {
      const place = matches(key) ? path : walk(inner, pathTo(path, each, key));
      if (place !== undefined) return place;
    }
    return undefined;
  };
  return unlessTooDeep(() => walk(value, ""));
}

/** The path to the first value that contains itself. */
function findCycle(value: unknown): string {
  const above = new Set<unknown>();
  const walk = (each: unknown, path: string): string | undefined => {
    if (typeof each !== "object" || each === null) return undefined;
    if (above.has(each)) return path;
    above.add(each);
    for (const [key, inner] of Object.entries(each)) {
      const place = walk(inner, pathTo(path, each, key));
      if (place !== undefined) return place;
    }
    above.delete(each);
    return undefined;
  };
  return unlessTooDeep(() => walk(value, ""));
}

/**
 * The place that a walk finds. The walk may overflow the stack where JSON.stringify did not; the place is then unknown.
 */
function unlessTooDeep(walk: () => string | undefined): string {
  try {
    return walk() ?? "";
  } catch (error) {
    if (isOverflow(error)) return "";
    throw error;
  }
}

function isOverflow(error: unknown): boolean {
  return error instanceof RangeError && error.message.includes("call stack");
}

function pathTo(path: string, container: object, key: string): string {
  return Array.isArray(container) ? `${path}[${key}]` : `${path}.${key}`;
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? text;
}

function describeKind(value: unknown): string {
  return value === undefined ? "undefined" : `a ${typeof value}`;
}

function describeBytes(bytes: number): string {
  return bytes >= 1024 * 1024 ? `${bytes / (1024 * 1024)} MiB` : `${bytes / 1024} kB`;
}
