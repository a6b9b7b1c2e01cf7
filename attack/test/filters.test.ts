/** A slice of the tour of random requests. */
import { expect, test } from "vitest";
import { filtersTour } from "../src/tours/filters.ts";
import { expectAllFail, timeout } from "./slice.ts";

test("no request makes the server fail or shows rows of another tenant", { timeout }, async () => {
  const { outcomes } = await expectAllFail(filtersTour, 150);
  expect(outcomes["200"]).toBeGreaterThan(10);
  expect(outcomes["400"]).toBeGreaterThan(10);
});
