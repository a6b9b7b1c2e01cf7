/** How many jobs a worker claims ahead of their start. */
import { describe, expect, test } from "vitest";
import { Pace } from "../../src/claiming/pace.ts";
import { typeCalled } from "../support/runs.ts";

describe("the pace", () => {
  test("claims nothing ahead while nothing is known, or when jobs are slow", () => {
    const type = typeCalled("a");
    const pace = new Pace([type]);
    expect(pace.ahead(10)).toBe(0);
    pace.noteClaim(1, new Map([[type, 1]]));
    expect(pace.ahead(10)).toBe(0);
    pace.noteCall(type, 1_000, 1);
    expect(pace.ahead(10)).toBe(0);
  });

  test("claims hundreds ahead when jobs take microseconds", () => {
    const type = typeCalled("a");
    const pace = new Pace([type]);
    pace.noteClaim(10, new Map([[type, 10]]));
    pace.noteCall(type, 0.02, 1);
    expect(pace.ahead(10)).toBeGreaterThan(1_000);
  });

  test("is careful when one claimed job in a hundred is slow, or of a type that has not run yet", () => {
    const [fast, slow] = [typeCalled("fast"), typeCalled("slow")];
    const pace = new Pace([fast, slow]);
    pace.noteClaim(100, new Map([[fast, 100]]));
    pace.noteCall(fast, 0.02, 1);
    expect(pace.ahead(10)).toBeGreaterThan(1_000);
    pace.noteClaim(
      100,
      new Map([
        [fast, 99],
        [slow, 1],
      ]),
    );
    expect(pace.ahead(10)).toBeLessThan(10);
    pace.noteCall(slow, 10_000, 1);
    expect(pace.ahead(10)).toBe(0);
  });
});
