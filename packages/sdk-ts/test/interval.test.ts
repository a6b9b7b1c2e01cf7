/** Intervals are shown as people write them. */
import { expect, test } from "vitest";
import { intervalText } from "../src/index.ts";

test.for([
  ["00:01:00", "1m"],
  ["01:30:00", "1h30m"],
  ["36:00:00", "1d12h"],
  ["7 days", "7d"],
  ["1 day 02:00:05", "1d2h5s"],
  ["00:00:00.25", "250ms"],
  ["00:00:00", "0ms"],
  ["1 mon", "1 mon"],
] as const)("the interval %s reads %s", ([interval, text]) => {
  expect(intervalText(interval)).toBe(text);
});
