/** Points in time, shown in the zone that the user chose. */
import { duration } from "./format.ts";

export const zones = ["relative", "local", "utc"] as const;
export type Zone = (typeof zones)[number];

export const zoneLabels: Readonly<Record<Zone, string>> = {
  relative: "Relative",
  local: "Local",
  utc: "UTC",
};

/** Undefined for times that JavaScript cannot represent: infinity, and years with more than four digits. */
export function timeOf(at: string): number | undefined {
  const ms = Date.parse(at);
  return Number.isNaN(ms) ? undefined : ms;
}

/** "in 3m 20s" or "3m 20s ago". */
export function relative(ms: number, now: number): string {
  const distance = ms - now;
  if (Math.abs(distance) < 1000) return "now";
  const rough = Math.abs(distance) < 10_000 ? Math.round(distance / 1000) * 1000 : distance;
  const words = duration(Math.abs(rough)).replace(/\.0 s$/, " s");
  return distance > 0 ? `in ${words}` : `${words} ago`;
}

/** Date and time to the second. The date is left out if it is today in that zone. */
export function clock(ms: number, zone: "local" | "utc", now: number): string {
  const [date, time] = parts(ms, zone);
  return date === parts(now, zone)[0] ? time : `${date} ${time}`;
}

/** Date, time to the millisecond and zone. */
export function exact(ms: number, zone: "local" | "utc"): string {
  const [date, time] = parts(ms, zone);
  const fraction = String(ms % 1000).padStart(3, "0");
  return `${date} ${time}.${fraction} ${zone === "utc" ? "UTC" : localZone()}`;
}

export function show(ms: number, zone: Zone, now: number): string {
  return zone === "relative" ? relative(ms, now) : clock(ms, zone, now);
}

export function localZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

function parts(ms: number, zone: "local" | "utc"): readonly [string, string] {
  if (zone === "utc") {
    const iso = new Date(ms).toISOString();
    return [iso.slice(0, iso.indexOf("T")), iso.slice(iso.indexOf("T") + 1, -5)];
  }
  const at = new Date(ms);
  const two = (value: number): string => String(value).padStart(2, "0");
  return [
    `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`,
    `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`,
  ];
}

/** A time in the zone of a schedule, which may be neither the user's nor UTC: "Mon 2026-03-30 09:00 GMT+2". */
export function inZone(ms: number, timeZone: string): string {
  const format = new Intl.DateTimeFormat("en-CA", {
    timeZone,
    weekday: "short",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
    timeZoneName: "shortOffset",
  });
  const found = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, value]));
  const seconds = found["second"] === "00" ? "" : `:${found["second"]}`;
  return `${found["weekday"]} ${found["year"]}-${found["month"]}-${found["day"]} ${found["hour"]}:${found["minute"]}${seconds} ${found["timeZoneName"]}`;
}

/** How far the zone is from UTC at that time, for telling that clocks change between two times. */
export function offsetOf(ms: number, timeZone: string): string {
  const format = new Intl.DateTimeFormat("en-US", { timeZone, timeZoneName: "shortOffset" });
  return format.formatToParts(ms).find(({ type }) => type === "timeZoneName")?.value ?? "";
}
