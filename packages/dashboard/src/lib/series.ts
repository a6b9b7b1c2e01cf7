/** Samples over time as charts need them: one value for each step, and null where no sample was taken. */
import type { Schemas } from "../api/client.ts";

export type Sample = Schemas["SeriesStep"];

/** How far a chart looks back, and how long each of its steps is. */
export const spans = {
  "1h": { label: "1 hour", minutes: 60, step: 1 },
  "6h": { label: "6 hours", minutes: 360, step: 5 },
  "24h": { label: "24 hours", minutes: 1440, step: 15 },
  "7d": { label: "7 days", minutes: 10_080, step: 120 },
} as const;
export type Span = keyof typeof spans;

export interface Line {
  readonly name: string;
  /** The custom property of its colour, which also has a meaning elsewhere on the pages. */
  readonly color: string;
  /** For the second line of the same thing, in the same colour. */
  readonly isDashed?: boolean;
  readonly values: readonly (number | null)[];
}

/** The starts of all steps of a span, in milliseconds, up to now. */
export function startsOf(span: Span, now: number): number[] {
  const { minutes, step } = spans[span];
  const length = step * 60_000;
  const last = Math.floor(now / length) * length;
  return Array.from({ length: minutes / step }, (_, index) => last - (minutes / step - 1 - index) * length);
}

/** The samples of these steps, undefined where none was taken. */
export function aligned(samples: readonly Sample[], starts: readonly number[]): (Sample | undefined)[] {
  const found = new Map(samples.map((sample) => [Date.parse(sample.start_at), sample]));
  return starts.map((start) => found.get(start));
}

/** No jobs, and so no times. */
const nothing = {
  ...{ due: 0, scheduled: 0, running: 0, runs: 0, succeeded: 0, failed: 0, dead: 0 },
  ...{ wait_p50_ms: null, wait_p95_ms: null, run_p50_ms: null, run_p95_ms: null },
};

/**
 * The samples of one type, with zeros where the type has none although samples were taken: a type is sampled only while
 * it has jobs.
 */
export function withZeros(
  own: readonly (Sample | undefined)[],
  all: readonly (Sample | undefined)[],
): (Sample | undefined)[] {
  return all.map((sampled, index) => {
    const sample = own[index];
    if (sampled === undefined) return sample;
    if (sample === undefined) return { ...sampled, ...nothing };
    return sampled.due === null || sample.due !== null
      ? sample
      : { ...sample, due: 0, scheduled: 0, running: 0 };
  });
}

type Field =
  | "due"
  | "running"
  | "succeeded"
  | "failed"
  | "dead"
  | "wait_p50_ms"
  | "wait_p95_ms"
  | "run_p50_ms"
  | "run_p95_ms";

export function valuesOf(rows: readonly (Sample | undefined)[], field: Field): (number | null)[] {
  return rows.map((row) => row?.[field] ?? null);
}

/** How many ended per minute. */
export function ratesOf(
  rows: readonly (Sample | undefined)[],
  fields: readonly ("succeeded" | "failed" | "dead")[],
  span: Span,
): (number | null)[] {
  const { step } = spans[span];
  return rows.map((row) =>
    row === undefined ? null : fields.reduce((sum, field) => sum + row[field], 0) / step,
  );
}

/** The ends of runs per minute of the last hour, by type. A minute without a sample of a type had none. */
export function endsByType(
  samples: readonly Sample[],
  now: number,
): ReadonlyMap<string, readonly (number | null)[]> {
  const starts = startsOf("1h", now);
  const first = Math.min(...samples.map(({ start_at }) => Date.parse(start_at)));
  const found = new Map<string, (number | null)[]>();
  for (const { type, start_at, runs } of samples) {
    // Before the first sample of any type, nothing was measured.
    const values = found.get(type ?? "") ?? starts.map((start) => (start < first ? null : 0));
    const place = starts.indexOf(Date.parse(start_at));
    if (place >= 0) values[place] = runs;
    found.set(type ?? "", values);
  }
  return found;
}

type UsageRow = Pick<
  Schemas["Usage"],
  "start_at" | "succeeded" | "failed" | "lost" | "wait_p50_ms" | "wait_p95_ms" | "run_p50_ms" | "run_p95_ms"
>;

interface Hours {
  readonly starts: readonly number[];
  readonly ends: readonly Line[];
  readonly times: readonly Line[];
}

/** The usage of each hour as lines, up to the hour that is not over. An hour without a row had no runs. */
export function hoursOf(rows: readonly UsageRow[], hours: number, now: number): Hours {
  const length = 3_600_000;
  const last = Math.floor(now / length) * length;
  const starts = Array.from({ length: hours }, (_, index) => last - (hours - 1 - index) * length);
  const found = new Map(rows.map((row) => [Date.parse(row.start_at), row]));
  const own = starts.map((start) => found.get(start));
  return {
    starts,
    ends: [
      { name: "Succeeded", color: "--succeeded", values: own.map((row) => row?.succeeded ?? 0) },
      { name: "Failed", color: "--dead", values: own.map((row) => (row?.failed ?? 0) + (row?.lost ?? 0)) },
    ],
    times: timesOf((field) => own.map((row) => row?.[field] ?? null)),
  };
}

type TimeField = "wait_p50_ms" | "wait_p95_ms" | "run_p50_ms" | "run_p95_ms";

/** How long jobs waited and ran: the half of them, and nearly all of them. */
export function timesOf(valuesIn: (field: TimeField) => readonly (number | null)[]): Line[] {
  return [
    { name: "Wait, 95 %", color: "--retrying", values: valuesIn("wait_p95_ms") },
    { name: "Wait, 50 %", color: "--retrying", isDashed: true, values: valuesIn("wait_p50_ms") },
    { name: "Run, 95 %", color: "--running", values: valuesIn("run_p95_ms") },
    { name: "Run, 50 %", color: "--running", isDashed: true, values: valuesIn("run_p50_ms") },
  ];
}

const shownMinutes = 5;

/** How many runs ended per minute lately: in the last five full minutes, or in this one if it is the first. */
export function endedPerMinute(
  samples: readonly Pick<Sample, "start_at" | "runs">[],
  now: number,
): number | undefined {
  const minute = 60_000;
  const current = Math.floor(now / minute) * minute;
  const agoOf = ({ start_at }: Pick<Sample, "start_at">): number => (current - Date.parse(start_at)) / minute;
  const full = samples.filter((sample) => agoOf(sample) >= 1 && agoOf(sample) <= shownMinutes);
  const shown = full.length > 0 ? full : samples.filter((sample) => agoOf(sample) === 0);
  return shown.length === 0 ? undefined : shown.reduce((sum, { runs }) => sum + runs, 0) / shown.length;
}
