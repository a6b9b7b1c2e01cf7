/** What charts, schedules and the page of a worker say, made from what the API returns. */
import { expect, test } from "vitest";
import { latencyOf } from "../src/lib/latency.ts";
import { marksOf } from "../src/lib/marks.ts";
import { cronWords, rhythmOf } from "../src/lib/rhythm.ts";
import { endedPerMinute, endsByType, hoursOf, type Sample, withZeros } from "../src/lib/series.ts";

test("a cron expression is said in words only where the words are exact", () => {
  const said: Readonly<Record<string, string | undefined>> = {
    "0 9 * * mon-fri": "Monday to Friday at 09:00",
    "30 6 * * 1": "Monday at 06:30",
    "0 0 * * 0,6": "Sunday and Saturday at 00:00",
    "5 4 * * mon,wed,fri": "Monday, Wednesday and Friday at 04:05",
    "*/15 * * * *": "Every 15 minutes",
    "7 * * * *": "Every hour at :07",
    "0 2 * * *": "Every day at 02:00",
    "15 3 1 * *": "Day 1 of each month at 03:15",
    "@daily": "Every day at 00:00",
    "* * * * *": "Every minute",
    // Each of these would need a longer sentence.
    "*/7 * * * *": undefined,
    "0 9-17 * * *": undefined,
    "0 0 1 * mon": undefined,
    "0 0 1 1 *": undefined,
    "0 0 * * mon-fri,sun": undefined,
    "0 0 L * *": undefined,
    "30 0 9 * * *": undefined,
  };
  for (const [cron, words] of Object.entries(said)) expect(cronWords(cron), cron).toBe(words);
});

test("a rhythm of one unit has no number", () => {
  const every = (text: string): string =>
    rhythmOf({ kind: "every", cron: null, timezone: null, every: text });
  expect([every("00:01:00"), every("01:00:00"), every("1 day"), every("00:15:00")]).toEqual([
    "Every minute",
    "Every hour",
    "Every day",
    "Every 15m",
  ]);
});

test("pauses, limits and policies are marks on charts, in their order, and only where they apply", () => {
  const entry = (id: number, action: string, entity_id: string) => ({
    id,
    at: `2026-03-11T03:0${id}:00Z`,
    actor: "ada",
    action,
    entity_id,
  });
  const entries = [
    entry(6, "JOB_FAILED", "0198c5f0-0000-7000-8000-000000000001"),
    entry(5, "POLICY_SET", "mail.send"),
    entry(4, "LIMIT_SET", "type_tenant:mail.send:5a0b0000-0000-4000-8000-000000000001"),
    entry(3, "LIMIT_SET", "type:*"),
    entry(2, "GATE_PAUSED", "type:image.resize"),
    entry(1, "GATE_PAUSED", "all"),
  ];
  expect(marksOf(entries).map(({ words }) => words)).toEqual([
    "Paused everything",
    "Paused image.resize",
    "Set the limit of every type",
    "Set the limit of the type and tenant mail.send:5a0b0000-0000-4000-8000-000000000001",
    "Changed the policy of mail.send",
  ]);
  expect(marksOf(entries, "mail.send").map(({ id }) => id)).toEqual([1, 3, 4, 5]);
  expect(marksOf(entries, "mail").map(({ id }) => id)).toEqual([1, 3]);
});

const start = Date.parse("2026-03-11T03:00:00Z");

function sample(due: number | null, runs: number, type: string | null = null, minute = 0): Sample {
  return {
    start_at: new Date(start + minute * 60_000).toISOString(),
    type,
    due,
    scheduled: due,
    running: due,
    exact: true,
    runs,
    succeeded: runs,
    failed: 0,
    dead: 0,
    wait_p50_ms: 5,
    wait_p95_ms: 9,
    run_p50_ms: 5,
    run_p95_ms: 9,
  };
}

test("a type without a sample had no jobs, if samples were taken", () => {
  const all = [sample(7, 3), sample(7, 3), sample(null, 3), undefined, sample(7, 3)];
  const own = [sample(2, 1), undefined, sample(null, 1), undefined, sample(null, 1)];
  const shown = withZeros(own, all);
  expect(shown.map((each) => each?.due)).toEqual([2, 0, null, undefined, 0]);
  expect(shown.map((each) => each?.runs)).toEqual([1, 0, 1, undefined, 1]);
  // The times of other types are not its own.
  expect(shown.map((each) => each?.wait_p95_ms)).toEqual([9, null, 9, undefined, 9]);
});

test("the small line of a type has zeros between its samples, and nothing before the first one of any type", () => {
  const samples = [sample(0, 4, "a", 1), sample(0, 6, "a", 3), sample(0, 1, "b", 2)];
  const ends = endsByType(samples, start + 4 * 60_000);
  expect(ends.get("a")?.slice(-5)).toEqual([null, 4, 0, 6, 0]);
  expect(ends.get("b")?.slice(-5)).toEqual([null, 0, 1, 0, 0]);
  expect(ends.get("a")).toHaveLength(60);
});

test("the calls of a worker have an average, and a limit that 95 of 100 keep", () => {
  const bins = Array.from({ length: 14 }, () => [0, 0]);
  bins[4] = [94, 1.88];
  bins[6] = [6, 0.6];
  expect(latencyOf(bins)).toEqual({ calls: 100, averageMs: 24.8, p95Ms: 100 });
  bins[13] = [20, 400];
  expect(latencyOf(bins)?.p95Ms).toBe(Number.POSITIVE_INFINITY);
  expect([latencyOf([]), latencyOf([[0, 0]]), latencyOf("none"), latencyOf(undefined)]).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

test("the hours of one tenant end with this one, and those without runs have none", () => {
  const now = Date.parse("2026-03-11T03:12:00Z");
  const times = { wait_p50_ms: 5, wait_p95_ms: 9, run_p50_ms: 20, run_p95_ms: 30 };
  const row = (start_at: string) => ({ start_at, succeeded: 7, failed: 2, lost: 1, ...times });
  const rows = [row("2026-03-11T01:00:00+00:00"), row("2026-03-11T03:00:00Z"), row("2026-03-10T03:00:00Z")];
  const { starts, ends, times: lines } = hoursOf(rows, 4, now);
  expect(starts.map((start) => new Date(start).getUTCHours())).toEqual([0, 1, 2, 3]);
  expect(ends.map(({ values }) => values)).toEqual([
    [0, 7, 0, 7],
    [0, 3, 0, 3],
  ]);
  expect(lines.map(({ name, values }) => [name, values[1], values[2]])).toEqual([
    ["Wait, 95 %", 9, null],
    ["Wait, 50 %", 5, null],
    ["Run, 95 %", 30, null],
    ["Run, 50 %", 20, null],
  ]);
});

test("what ended per minute is of full minutes, and at first of the one that is not over", () => {
  const now = start + 10 * 60_000 + 30_000;
  const of = (minute: number, runs: number) => sample(0, runs, null, minute);
  expect(endedPerMinute([of(1, 500), of(5, 10), of(9, 20), of(10, 3)], now)).toBe(15);
  expect(endedPerMinute([of(10, 3)], now)).toBe(3);
  expect(endedPerMinute([of(1, 500)], now)).toBeUndefined();
});
