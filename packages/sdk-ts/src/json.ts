/** JSON as Postgres takes it: what cannot be kept is refused with its place, or replaced where the work is already done. */
import { InvalidArgumentError, PayloadTooLargeError } from "./errors.ts";

/** The cap of the kernel for payloads and results. */
export const maxPayloadBytes: number = 1024 * 1024;

/** JSON that is already text. Transports pass it on as it is, so a payload is written once and never parsed on the way. */
export class JsonText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/**
 * A value as JSON text. Refuses, naming the place, what would be lost or would fail in the database: nothing at all, BigInt, cycles,
 * a NUL character, half a surrogate pair, more than the cap.
 */
export function toJson(value: unknown, field: string, maxBytes: number = maxPayloadBytes): JsonText {
  const text = stringify(value, field);
  if (hasUnstorable(text)) {
    const place = findPlace(
      value,
      (each) => typeof each === "string" && unstorable.test(JSON.stringify(each)),
      true,
    );
    throw new InvalidArgumentError(`${field}${place} has a character that Postgres cannot keep`, {
      field: `${field}${place}`,
      hint: "Remove NUL characters and unpaired surrogates, or encode binary data, as base64 for example.",
    });
  }
  // Text has at most three bytes per character here, so most are known to fit without counting.
  if (text.length * 3 > maxBytes && Buffer.byteLength(text) > maxBytes)
    throw new PayloadTooLargeError(`Payload too large: ${field} is over ${describeBytes(maxBytes)}`, {
      field,
    });
  return new JsonText(text);
}

/** A value as JSON text that Postgres takes: characters it cannot keep become U+FFFD. For what has already happened. */
export function toStorableJson(value: unknown, field: string): JsonText {
  const text = stringify(value, field);
  return new JsonText(hasUnstorable(text) ? text.replaceAll(unstorables, "$1\\ufffd") : text);
}

/** JSON text with an escaped NUL or unpaired surrogate: JSON.stringify escapes only these with \u0000 and \ud…; `\\u0000` is text. */
const escapes = String.raw`((?<!\\)(?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})`;
const unstorable = new RegExp(escapes);
const unstorables = new RegExp(escapes, "g");

/** Most texts have no escape at all, which is found out in a tenth of the time. */
function hasUnstorable(text: string): boolean {
  return text.includes("\\u") && unstorable.test(text);
}

function stringify(value: unknown, field: string): string {
  if (value instanceof Map || value instanceof Set)
    throw unserialisable(field, `a ${value.constructor.name} would be kept as {}`);
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    if (isOverflow(error)) throw unserialisable(field, "it is nested too deeply", error);
    const place = findPlace(value, (each) => typeof each === "bigint", true) || findCycle(value);
    throw unserialisable(
      `${field}${place}`,
      error instanceof Error && typeof error.message === "string"
        ? firstLine(error.message)
        : "a getter or toJSON() threw",
      error,
    );
  }
  if (text === undefined) throw unserialisable(field, `${describeKind(value)} has no JSON`);
  return text;
}

function unserialisable(field: string, reason: string, cause?: unknown): InvalidArgumentError {
  return new InvalidArgumentError(`${field} cannot be written as JSON: ${reason}`, {
    field,
    hint: "Pass plain JSON values: objects, arrays, texts, numbers, booleans, null.",
    cause,
  });
}

/** The path to the first value that is looked for, such as `.lines[0].price`; empty when it is the value itself or there is none. */
function findPlace(value: unknown, isIt: (value: unknown) => boolean, acyclic: boolean): string {
  const seen = new Set<unknown>();
  const walk = (each: unknown, path: string): string | undefined => {
    if (isIt(each)) return path;
    if (typeof each !== "object" || each === null || (acyclic && seen.has(each))) return undefined;
    seen.add(each);
    for (const [key, inner] of Object.entries(each)) {
      const place = isIt(key) ? path : walk(inner, pathTo(path, each, key));
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

/** The place that a walk finds. Its stack may end earlier than that of JSON.stringify: then the place stays unknown. */
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
