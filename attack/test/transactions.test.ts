/** A slice of the tour of open transactions. */
import { expect, test } from "vitest";
import { transactionsTour } from "../src/tours/transactions.ts";
import { expectAllFail, timeout } from "./slice.ts";

test("an open transaction of a login stops no call of others", { timeout }, async () => {
  const { outcomes } = await expectAllFail(transactionsTour, 6);
  expect(outcomes["ok"]).toBeGreaterThan(100);
});
