/** Deadlines of runs, which share one timer. */
import { expect, onTestFinished, test, vi } from "vitest";
import { Deadlines } from "../../src/running/deadlines.ts";
import { runOf, typeCalled } from "../support/runs.ts";

test("deadlines are reached in order, with one timer, unless they are cleared", () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const deadlines = new Deadlines();
  const reached: string[] = [];
  const type = typeCalled("a");
  const [first, second, third] = [runOf(type, "1"), runOf(type, "2"), runOf(type, "3")];
  deadlines.set(third, 300, (run) => reached.push(run.id));
  deadlines.set(first, 100, (run) => reached.push(run.id));
  deadlines.set(second, 200, (run) => reached.push(run.id));
  expect(vi.getTimerCount()).toBe(1);
  deadlines.clear(second);
  vi.advanceTimersByTime(150);
  expect(reached).toEqual(["1"]);
  vi.advanceTimersByTime(1_000);
  expect(reached).toEqual(["1", "3"]);
  expect(vi.getTimerCount()).toBe(0);
});
