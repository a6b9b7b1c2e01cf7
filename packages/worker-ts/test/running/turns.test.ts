/** The order in which claimed jobs start. */
import { describe, expect, test } from "vitest";
import { Turns } from "../../src/running/turns.ts";
import { runOf, typeCalled } from "../support/runs.ts";

const a = typeCalled("a");
const order = (turns: Turns): string[] => turns.takeAll().map(({ id }) => id);

describe("claimed jobs start", () => {
  test("in turns of their tenants, and for each tenant in the order of their claim", () => {
    const turns = new Turns();
    for (const id of ["x1", "x2", "x3", "y1", "z1", "y2"]) turns.push(runOf(a, id, { tenant: id[0] }));
    expect(turns.first?.id).toBe("x1");
    expect(turns.length).toBe(6);
    expect(order(turns)).toEqual(["x1", "y1", "z1", "x2", "y2", "x3"]);
    expect(turns.length).toBe(0);
    expect(turns.shift()).toBeUndefined();
  });

  test("for a new tenant after one job of each tenant that was already waiting", () => {
    const turns = new Turns();
    for (let n = 1; n <= 100; n += 1) turns.push(runOf(a, `flood ${n}`, { tenant: "flood" }));
    expect(turns.shift()?.id).toBe("flood 1");
    turns.push(runOf(a, "first", { tenant: "new" }));
    expect([turns.shift()?.id, turns.shift()?.id, turns.shift()?.id]).toEqual([
      "flood 2",
      "first",
      "flood 3",
    ]);
  });

  test("by priority first, whenever they were claimed", () => {
    const turns = new Turns();
    turns.push(runOf(a, "usual", { priority: 0 }));
    turns.push(runOf(a, "low", { priority: -5 }));
    turns.push(runOf(a, "urgent", { priority: 9 }));
    turns.push(runOf(a, "high", { priority: 5 }));
    turns.push(runOf(a, "urgent too", { priority: 9, tenant: "u" }));
    expect(order(turns)).toEqual(["urgent", "urgent too", "high", "usual", "low"]);
  });
});

test("the turns know how long the oldest job has waited, whichever tenant is next", () => {
  const turns = new Turns();
  expect(turns.waitingSince).toBe(Number.POSITIVE_INFINITY);
  turns.push(runOf(a, "late", { at: 30, priority: 1 }));
  turns.push(runOf(a, "early", { at: 10, tenant: "y" }));
  turns.push(runOf(a, "middle", { at: 20, tenant: "z" }));
  expect(turns.waitingSince).toBe(10);
  expect(turns.shift()?.id).toBe("late");
  expect(turns.shift()?.id).toBe("early");
  expect(turns.waitingSince).toBe(20);
});
