/** Checks of kinds of values. Each error names the field and says what is allowed. */
import { InvalidArgumentError } from "../errors.ts";
import { type Aliases, suggest } from "../suggest.ts";
import { type Bounds, bounds } from "../words.ts";

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function refuse(field: string, message: string, hint?: string): never {
  throw new InvalidArgumentError(`Invalid argument: ${field} ${message}`, { field, hint });
}

export function describe(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  if (typeof value === "string") return "a text";
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "an invalid Date" : "a Date";
  if (typeof value === "object") return Array.isArray(value) ? "an array" : "an object";
  return `a ${typeof value}`;
}

export type Check = (value: unknown, field: string) => unknown;

export function checkUuid(value: unknown, field: string, hint?: string): void {
  if (typeof value !== "string") refuse(field, `must be a uuid, not ${describe(value)}`, hint);
  if (!uuid.test(value)) refuse(field, "must be a uuid", hint);
}

/** Returns a value that must be an object. Plain JavaScript may pass anything. */
export function requireObject<T>(value: T, field: string, hint: string): T {
  if (typeof value !== "object" || value === null)
    refuse(field, `must be an object, not ${describe(value)}`, hint);
  return value;
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

/** Runs the check of every option that is given. Options without a check are accepted. */
export function checkGiven<O extends object>(
  options: O,
  at: string,
  checks: { readonly [K in keyof O]?: Check },
): void {
  for (const name of Object.keys(options) as (keyof O & string)[])
    if (options[name] !== undefined) checks[name]?.(options[name], `${at}${name}`);
}

/** A whole number within bounds. */
export function checkRange(value: unknown, field: string, { min, max }: Bounds): void {
  if (!Number.isInteger(value) || Number(value) < min || Number(value) > max)
    refuse(field, `must be a whole number between ${min} and ${max}`, rangeHint(value, field));
}

function rangeHint(value: unknown, field: string): string | undefined {
  if (typeof value !== "string") return undefined;
  return field.endsWith("Ms") ? millisecondsHint : "Pass a number, not a text.";
}

export const millisecondsHint = "Pass a number of milliseconds. 5 minutes are 5 * 60_000.";

export function within(allowed: Bounds): Check {
  return (value, field) => checkRange(value, field, allowed);
}

/** A number within bounds, not necessarily a whole one. */
export function numberWithin({ min, max }: Bounds): Check {
  return (value, field) => {
    if (typeof value !== "number" || !(value >= min && value <= max))
      refuse(field, `must be a number between ${min} and ${max}`);
  };
}

export function orNull(check: Check): Check {
  return (value, field) => value !== null && check(value, field);
}

/** How to make a Date of what was passed. */
function dateHint(value: unknown): string {
  if (typeof value === "string" && !Number.isNaN(Date.parse(value))) return "Pass new Date(text).";
  if (typeof value === "number") return "Pass new Date(milliseconds).";
  return "Pass a Date, such as new Date(Date.now() + 60_000).";
}

/** A time that both JSON and Postgres can store. An invalid Date serializes to null, which has another meaning. */
export function checkDate(value: unknown, field: string): void {
  if (!(value instanceof Date) || Number.isNaN(value.getTime()))
    refuse(field, `must be a valid Date, not ${describe(value)}`, dateHint(value));
  const year = value.getUTCFullYear();
  if (year < 1 || year > 9999) refuse(field, "must be a time from year 1 to year 9999");
}

/** A timeout: any number of milliseconds from 0 on. Infinity means no limit. */
export function checkTimeout(value: unknown, field = "timeoutMs"): void {
  if (typeof value !== "number" || !(value >= 0))
    refuse(field, "must be a number of milliseconds, 0 or more, or Infinity", rangeHint(value, field));
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

export function checkOneOf(value: unknown, field: string, allowed: readonly string[]): void {
  if (typeof value !== "string" || !allowed.includes(value))
    refuse(field, `must be one of ${allowed.join(", ")}`);
}

/** A function that the caller must pass. The hint is a sample. */
export function checkFunction(value: unknown, field: string, hint?: string): void {
  if (typeof value !== "function") refuse(field, `must be a function, not ${describe(value)}`, hint);
}

export function checkBoolean(value: unknown, field: string): void {
  if (typeof value !== "boolean") refuse(field, "must be true or false");
}
