/** Times on the days when clocks change, and numbers that a browser would round. */
import { expect, test } from "vitest";
import { csvOf } from "../src/lib/csv.ts";
import { countOf, duration, percent, short } from "../src/lib/format.ts";
import { field, jsonError, parseExact, writeExact } from "../src/lib/json.ts";
import { runsOf } from "../src/lib/runs.ts";
import { sharesOf } from "../src/lib/shares.ts";
import { clock, inZone, relative } from "../src/lib/time.ts";

test("a daily run keeps its hour over a change of the clocks in Berlin, and the change is marked", () => {
  // 2026-03-29: 02:00 becomes 03:00. 2026-10-25: 03:00 becomes 02:00.
  const spring = runsOf(
    ["2026-03-28T08:00:00Z", "2026-03-29T07:00:00Z", "2026-03-30T07:00:00Z"],
    "Europe/Berlin",
  );
  expect(spring.map(({ own }) => own)).toEqual([
    "Sat 2026-03-28 09:00 GMT+1",
    "Sun 2026-03-29 09:00 GMT+2",
    "Mon 2026-03-30 09:00 GMT+2",
  ]);
  expect(spring.map(({ note }) => note !== "")).toEqual([false, true, false]);
  const autumn = runsOf(["2026-10-24T07:00:00Z", "2026-10-25T08:00:00Z"], "Europe/Berlin");
  expect(autumn.map(({ own, note }) => [own, note !== ""])).toEqual([
    ["Sat 2026-10-24 09:00 GMT+2", false],
    ["Sun 2026-10-25 09:00 GMT+1", true],
  ]);
});

test("the same in New York, where clocks change on other days", () => {
  const spring = runsOf(["2026-03-07T11:30:00Z", "2026-03-08T10:30:00Z"], "America/New_York");
  expect(spring.map(({ own, note }) => [own, note !== ""])).toEqual([
    ["Sat 2026-03-07 06:30 GMT-5", false],
    ["Sun 2026-03-08 06:30 GMT-4", true],
  ]);
  // The hour that happens twice has two offsets.
  expect(inZone(Date.parse("2026-11-01T05:30:00Z"), "America/New_York")).toBe("Sun 2026-11-01 01:30 GMT-4");
  expect(inZone(Date.parse("2026-11-01T06:30:00Z"), "America/New_York")).toBe("Sun 2026-11-01 01:30 GMT-5");
});

test("a clock leaves out the date only of the same day in that zone", () => {
  const now = Date.parse("2026-03-29T00:30:00Z");
  expect(clock(Date.parse("2026-03-29T00:10:05Z"), "utc", now)).toBe("00:10:05");
  expect(clock(Date.parse("2026-03-28T23:59:59Z"), "utc", now)).toBe("2026-03-28 23:59:59");
  expect(relative(now - 90_000, now)).toBe("1m 30s ago");
  expect(relative(now + 3_600_000, now)).toBe("in 1h");
});

test("numbers keep every digit from the answer to the request", () => {
  const text =
    '{"payload":{"id":9007199254740993,"rate":0.10,"big":123456789012345678901234567890,"e":1e400}}';
  const payload = field(parseExact(text), "payload") ?? null;
  expect(writeExact(payload)).toBe(
    '{"id":9007199254740993,"rate":0.10,"big":123456789012345678901234567890,"e":1e400}',
  );
  expect(jsonError('{"a":\n 1,\n}')).toMatch(/^Line 3/);
  expect(jsonError('{"a": 1}')).toBeUndefined();
});

test("counts say whether they are exact, and lengths of time have two units", () => {
  expect([countOf(999_999), countOf(1_234_567), countOf(12_345, false)]).toEqual([
    "999,999",
    "1.2 M",
    "≈ 12 k",
  ]);
  expect([short(1234), short(99_950)]).toEqual(["1.2 k", "100 k"]);
  expect([duration(0), duration(1234), duration(3_725_000), duration(90_061_000)]).toEqual([
    "0 ms",
    "1.2 s",
    "1h 2m",
    "1d 1h",
  ]);
  expect([percent(0, 0), percent(1, 300), percent(50, 100)]).toEqual(["0 %", "0.3 %", "50 %"]);
});

test("a file of rows holds no formula, and quotes what needs it", () => {
  expect(csvOf(["a", "b"], [{ a: "=1+1", b: 'x,"y"' }])).toBe('a,b\r\n\'=1+1,"x,""y"""\r\n');
});

test("shares have a colour each, and the small ones one together", () => {
  const all = [5, 4, 3, 2, 1, 0, 2, 3].map((value, index) => ({ value, label: `t${index}` }));
  const { total, parts } = sharesOf(
    all,
    ({ value }) => value,
    ({ label }) => label,
  );
  expect(total).toBe(20);
  expect(parts.map(({ label, value }) => [label, value])).toEqual([
    ["t0", 5],
    ["t1", 4],
    ["t2", 3],
    ["t3", 2],
    ["t4", 1],
    ["Others", 5],
  ]);
});
