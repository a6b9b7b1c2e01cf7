/** A slice of the tour of session settings. */
import { expect, test } from "vitest";
import { settingsTour } from "../src/tours/settings.ts";
import { expectAllFail, timeout } from "./slice.ts";

test("settings of a session change neither the results of calls nor the work of others", {
  timeout,
}, async () => {
  const { outcomes } = await expectAllFail(settingsTour, 24);
  expect(outcomes["ok"]).toBeGreaterThan(15);
});
