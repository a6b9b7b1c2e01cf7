/** A slice of the tour through all objects of the database. Runs on Postgres 15, too. */
import { expect, test } from "vitest";
import { sqlTour } from "../src/tours/sql.ts";
import { expectAllFail, timeout } from "./slice.ts";

test("no caller reads or changes rows of another tenant, whatever it calls", { timeout }, async () => {
  const { outcomes } = await expectAllFail(sqlTour, 400);
  // Most calls are refused, and some of the caller's own calls succeed.
  expect(outcomes["42501"]).toBeGreaterThan(200);
  expect(outcomes["ok"]).toBeGreaterThan(5);
});
