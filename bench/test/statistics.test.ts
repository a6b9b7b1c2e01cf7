import { describe, expect, test } from "vitest";
import { divided } from "../src/driver/costs.ts";
import { rateOf, together } from "../src/driver/sampling.ts";
import { costOf, median, ratioOf, spread, summary } from "../src/report/statistics.ts";
import { rate } from "../src/workloads/workload.ts";
import { cell, rounds } from "./results.ts";

describe("of several rounds", () => {
  test("the median is the middle value, or the mean of the two middle values", () => {
    expect(median([9, 1, 5])).toBe(5);
    expect(median([4, 1, 2, 100])).toBe(3);
    expect(median([])).toBeNaN();
  });

  test("the spread is the difference between the extremes, as a share of the median", () => {
    expect(spread(summary([90, 100, 130]))).toBeCloseTo(0.4);
    expect(spread(summary([0, 0]))).toBe(0);
  });

  test("the ratio divides our median by the peer's, and is undefined without both", () => {
    const results = cell(
      "x",
      rounds("jobforge", 300, 200, 900),
      rounds("pg-boss", 50, 100, 150),
      rounds("river"),
    );
    expect(ratioOf(results, "pg-boss", rate)).toBe(3);
    expect(ratioOf(results, "river", rate)).toBeUndefined();
    expect(ratioOf(results, "unknown", rate)).toBeUndefined();
  });

  test("each cost has its own median, and a cost that was not counted is absent", () => {
    expect(costOf(rounds("jobforge", 10, 30, 20))).toEqual({ walBytes: 2 });
  });
});

describe("costs", () => {
  test("are differences, divided by a number", () => {
    const before = { walBytes: 100, commits: 1, serverCpuSeconds: 5 };
    const after = { walBytes: 1100, commits: 3, workerCpuSeconds: 2 };
    expect(divided(before, after, 10)).toEqual({ walBytes: 100, commits: 0.2 });
    expect(divided(before, after, 0)).toEqual({});
  });
});

describe("the rate", () => {
  const at = (seconds: number, done: number) => ({ done, last: 1_000_000 + seconds * 1000 });

  test("excludes the warm-up", () => {
    // 10 in the first second, then 100 a second.
    const samples = [at(0.5, 5), at(1, 10), at(2, 110), at(3, 210)];
    expect(rateOf(samples, 1_000_000, { warmUp: 1, watched: 5 })).toBe(100);
  });

  test("ends with the last execution, even if the observation went on", () => {
    expect(
      rateOf([at(1, 100), at(2, 200), at(2, 200), at(2, 200)], 1_000_000, { warmUp: 0, watched: 5 }),
    ).toBe(100);
  });

  test("counts all executions if few remained after the warm-up", () => {
    expect(rateOf([at(1, 90), at(2, 100)], 1_000_000, { warmUp: 1, watched: 5 })).toBe(50);
    expect(rateOf([at(0.5, 100)], 1_000_000, { warmUp: 1, watched: 5 })).toBe(200);
  });

  test("of few executions is their number divided by the observed time, not by the time between them", () => {
    expect(rateOf([at(0.000_02, 1)], 1_000_000, { warmUp: 1, watched: 5 })).toBe(0.2);
  });

  test("is 0 if no job was run", () => {
    expect(rateOf([], 1_000_000, { warmUp: 1, watched: 5 })).toBe(0);
    expect(rateOf([{ done: 0, last: 0 }], 0, { warmUp: 1, watched: 5 })).toBe(0);
  });

  test("adds up all processes", () => {
    const counts = [
      { done: 3, first: 5, last: 10 },
      { done: 4, first: 1, last: 30 },
    ];
    expect(together(counts)).toEqual({ done: 7, last: 30 });
  });
});
