/** A slice of the tour of tokens. */
import { expect, test } from "vitest";
import { tokensTour } from "../src/tours/tokens.ts";
import { expectAllFail, timeout } from "./slice.ts";

test("no forged, malformed or revoked token is accepted, and no token names another tenant", {
  timeout,
}, async () => {
  const { outcomes } = await expectAllFail(tokensTour, 120);
  expect(outcomes["401"]).toBeGreaterThan(20);
  expect(outcomes["403"]).toBeGreaterThan(20);
});
