/** A budget of bytes for all callers, with a part for each. */
import { describe, expect, test } from "vitest";
import { ByteBudget } from "../src/byte-budget.ts";
import { RequestError } from "../src/errors.ts";

const make = (size = 400): ByteBudget => new ByteBudget({ what: "tests", size });

function statusOf(work: () => unknown): number {
  try {
    work();
    return 200;
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    expect(error.headers).toEqual({ "retry-after": "1" });
    return error.status;
  }
}

describe("a caller", () => {
  test("takes up to a quarter, and others are not affected", () => {
    const budget = make();
    budget.take("a", 60);
    expect(statusOf(() => budget.take("a", 40))).toBe(200);
    expect(statusOf(() => budget.take("a", 1))).toBe(429);
    expect(statusOf(() => budget.take("b", 100))).toBe(200);
    expect(budget.total).toBe(200);
  });

  test("that gives bytes back may take them again, and gives them back once only", () => {
    const budget = make();
    const giveBack = budget.take("a", 100);
    expect(statusOf(() => budget.take("a", 1))).toBe(429);
    giveBack();
    giveBack();
    expect(budget.total).toBe(0);
    expect(statusOf(() => budget.take("a", 100))).toBe(200);
  });

  test("that holds nothing may take more than its part", () => {
    const budget = make();
    expect(statusOf(() => budget.take("a", 300))).toBe(200);
    expect(statusOf(() => budget.take("a", 1))).toBe(429);
  });

  test("may charge what it holds already, and is refused then", () => {
    const budget = make();
    budget.charge("a", 99);
    expect(statusOf(() => budget.require("a"))).toBe(200);
    const giveBack = budget.charge("a", 200);
    expect([statusOf(() => budget.require("a")), statusOf(() => budget.require("b"))]).toEqual([429, 200]);
    giveBack();
    expect(statusOf(() => budget.require("a"))).toBe(200);
  });
});

describe("all callers together", () => {
  test("take up to the whole budget", () => {
    const budget = make();
    for (const caller of ["a", "b", "c", "d"]) budget.take(caller, 100);
    expect([statusOf(() => budget.take("e", 1)), statusOf(() => budget.require("e"))]).toEqual([503, 503]);
  });

  test("that hold nothing do not keep a caller from taking more than the whole budget", () => {
    const budget = make();
    expect(statusOf(() => budget.take("a", 1000))).toBe(200);
    expect(statusOf(() => budget.take("b", 1))).toBe(503);
  });
});
