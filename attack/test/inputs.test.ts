/** A slice of the tour of random inputs. */
import { expect, test } from "vitest";
import { inputsTour } from "../src/tours/inputs.ts";
import { expectAllFail, timeout } from "./slice.ts";

test("random jobs, ends, changes and schedules fail with documented errors only", { timeout }, async () => {
  const { outcomes } = await expectAllFail(inputsTour, 250);
  expect(outcomes["ok"]).toBeGreaterThan(50);
  expect(outcomes["JF002"]).toBeGreaterThan(10);
});
