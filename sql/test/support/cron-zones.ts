/** The wall clocks of time zones by Intl. The oracle uses these, independently of Postgres. */
import type { Sql } from "./kernel.ts";

/** A span of time in which the clock does not change. Times are milliseconds since 1970, UTC. */
export interface Span {
  readonly from: number;
  readonly to: number;
  /** The clock shows the instant plus this offset. */
  readonly offset: number;
}

const day = 86_400_000;
export const firstInstant: number = Date.UTC(1990, 0, 1);
export const lastInstant: number = Date.UTC(2040, 0, 1);
const horizon = Date.UTC(2060, 0, 1);

/**
 * Zones with unusual clock changes: by half an hour, two hours or a day, at midnight, in winter, with Ramadan, or none.
 */
export const oddZones: readonly string[] = [
  "UTC",
  "Europe/Berlin",
  "Europe/Dublin",
  "America/New_York",
  "America/Sao_Paulo",
  "America/Havana",
  "America/St_Johns",
  "Africa/Casablanca",
  "Africa/Cairo",
  "Antarctica/Troll",
  "Asia/Beirut",
  "Asia/Kathmandu",
  "Atlantic/Azores",
  "Australia/Lord_Howe",
  "Pacific/Apia",
  "Pacific/Chatham",
  "Pacific/Kwajalein",
];

const formats = new Map<string, Intl.DateTimeFormat>();

function offsetAt(zone: string, at: number): number {
  const format =
    formats.get(zone) ?? new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" });
  formats.set(zone, format);
  // Such as "3/30/2025, GMT+02:00".
  const [, sign, hours, minutes] = /GMT(?:([+-])(\d\d):(\d\d))?$/.exec(format.format(at)) ?? [];
  return (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * (sign === "-" ? -60_000 : 60_000);
}

const spans = new Map<string, readonly Span[]>();

/** Returns the spans of a zone in order. In these years no zone changes its clock twice within six days. */
export function spansOf(zone: string): readonly Span[] {
  const known = spans.get(zone);
  if (known) return known;
  const found: Span[] = [];
  let from = firstInstant - 400 * day;
  let offset = offsetAt(zone, from);
  for (let at = from; at < horizon; at += 5 * day) {
    if (offsetAt(zone, at + 5 * day) === offset) continue;
    const to = shiftIn(zone, at, at + 5 * day, offset);
    found.push({ from, to, offset });
    from = to;
    offset = offsetAt(zone, to);
  }
  found.push({ from, to: horizon, offset });
  spans.set(zone, found);
  return found;
}

function shiftIn(zone: string, from: number, to: number, offset: number): number {
  let [before, after] = [from, to];
  while (after - before > 1000) {
    const middle = before + Math.floor((after - before) / 2000) * 1000;
    if (offsetAt(zone, middle) === offset) before = middle;
    else after = middle;
  }
  return after;
}

/** Returns the zones with the same spans in Postgres. Intl and Postgres may have different time zone databases. */
export async function agreedZones(db: Sql, zones: readonly string[]): Promise<string[]> {
  const known = await db.query<{ name: string }>("select name from pg_timezone_names where name = any ($1)", [
    zones,
  ]);
  const probes = known.flatMap(({ name }) =>
    spansOf(name).flatMap(({ from, to, offset }) =>
      [from, to - 1000].map((at) => ({ zone: name, at: new Date(at), seconds: offset / 1000 })),
    ),
  );
  const agreed = await db.query<{ zone: string }>(
    `select zone
     from jsonb_to_recordset($1) p(zone text, at timestamptz, seconds int)
     group by zone
     having bool_and(extract(epoch from (at at time zone zone) - (at at time zone 'UTC')) = seconds)
     order by zone`,
    [JSON.stringify(probes)],
  );
  return agreed.map(({ zone }) => zone);
}
