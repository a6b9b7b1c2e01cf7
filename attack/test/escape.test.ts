/** A slice of the tour of escapes. */
import { expect, test } from "vitest";
import { escapeTour } from "../src/tours/escape.ts";
import { expectAllFail, timeout } from "./slice.ts";

test("no login becomes another role, leaves its binding or runs its own code inside of JobForge", {
  timeout,
}, async () => {
  const { outcomes } = await expectAllFail(escapeTour, 30);
  expect(outcomes["42501"]).toBeGreaterThan(50);
});
