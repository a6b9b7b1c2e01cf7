/** Formats times, time spans and numbers for people, and parses them as people type them. */
import { type Bounds, tenantOf } from "@jobforge/sdk-ts";
import { UsageError } from "../failures.ts";

const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
] as const;

/** Formats a time span by its two largest units: `3d 4h`, `12m 5s`, `350ms`. */
export function span(ms: number): string {
  if (Math.abs(ms) < 1000) return `${Math.round(ms)}ms`;
  let rest = Math.round(Math.abs(ms) / 1000) * 1000;
  const parts: string[] = [];
  for (const [name, size] of units) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count}${name}`);
    else if (parts.length > 0) break;
    if (parts.length === 2) break;
  }
  return parts.join(" ");
}

/** Formats a time relative to now: `5m ago` or `in 2h`. */
export function ago(at: Date | undefined, now: number = Date.now()): string {
  if (at === undefined) return "";
  const ms = now - at.getTime();
  if (Math.abs(ms) < 1000) return "now";
  return ms > 0 ? `${span(ms)} ago` : `in ${span(-ms)}`;
}

export function count(value: number, noun: string): string {
  return `${value.toLocaleString("en")} ${noun}${value === 1 ? "" : "s"}`;
}

/** Formats a number, and marks it if it is an estimate: `~96,850`. */
export function estimate(value: number, exact: boolean): string {
  return `${exact ? "" : "~"}${value.toLocaleString("en")}`;
}

const spanMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses `90s`, `15m`, `2h` or `7d` to milliseconds. */
export function readSpan(given: string): number {
  const [, digits, unit = ""] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(given.trim()) ?? [];
  if (digits === undefined)
    throw new UsageError(`"${given}" is not a valid time span. Use a form such as 90s, 15m, 2h or 7d.`);
  return Number(digits) * (spanMs[unit] ?? 0);
}

/** Parses an ISO time, or a time span relative to now: `2h` means in two hours, or two hours ago. */
export function readTime(given: string, direction: "ahead" | "back"): Date {
  const isSpan = /^\d+(\.\d+)?(ms|s|m|h|d)$/.test(given.trim());
  const time = isSpan
    ? new Date(Date.now() + (direction === "ahead" ? 1 : -1) * readSpan(given))
    : new Date(given);
  // A span of a million years gives an invalid date. As a filter it would be ignored, and match all jobs.
  const isTime = time.getTime() >= Date.parse("0001-01-01") && time.getTime() <= Date.parse("9999-12-31");
  if (!isTime || !(isSpan || /^\d{4}-\d\d-\d\d/.test(given))) {
    throw new UsageError(
      `"${given}" is not a valid time. Use a form such as 2026-01-31T12:00:00Z, or a time span such as 15m, 2h or 7d.`,
    );
  }
  return time;
}

/** Returns a parser for whole numbers within bounds. `name` is the option in the error message. */
export function wholeNumber(name: string, { min, max }: Bounds): (given: string) => number {
  return (given) => {
    const value = /^-?\d+$/.test(given) ? Number(given) : Number.NaN;
    if (!(value >= min && value <= max))
      throw new UsageError(`${name} must be a whole number from ${min} to ${max}, not "${given}".`);
    return value;
  };
}

/**
 * Parses the id of a tenant: a uuid, or an id that the application uses, such as org_123. Refuses a text that looks
 * like a uuid with a mistake in it, because it would be another tenant.
 */
export function readTenant(given: string): string {
  const found = tenantOf(given);
  const isUuid = found?.replaceAll("-", "") === given.replaceAll(/[-{}]/g, "").toLowerCase();
  if (found === undefined || (!isUuid && /^[0-9a-f]+(-[0-9a-f]*){3,}$/i.test(given)))
    throw new UsageError(
      `"${given}" is not a valid tenant. Use a UUID, or an id of your application such as org_123.`,
    );
  return found;
}

/** Returns a parser that also accepts `none`, which removes a setting. */
export function orNone<T>(read: (given: string) => T): (given: string) => T | "none" {
  return (given) => (given === "none" ? given : read(given));
}

/** Returns null for `none`. A parser of an option cannot: commander takes null for a missing value. */
export function noneToNull<T>(value: T | "none" | undefined): T | null | undefined {
  return value === "none" ? null : value;
}

/** Lists words for people: `skip, replace or debounce`. */
export function choice(words: readonly string[]): string {
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

/**
 * Collects the values of an option that may be repeated or separated by commas. An empty value, for example from a
 * shell variable that is not set, is an error: as a filter it would match all jobs.
 */
export function collect(given: string, before: readonly string[] | undefined): string[] {
  const values = given
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "");
  if (values.length === 0)
    throw new UsageError(`"${given}" contains no value. Omit the option, or give it a value.`);
  return [...(before ?? []), ...values];
}

/** Requires a text that is not empty, for the same reason. */
export function readText(given: string): string {
  if (given.trim() === "") throw new UsageError("An option is empty. Omit it, or give it a value.");
  return given;
}
