/**
 * browser.js has every export of the package's entries. So a bundler finds each import, and the program throws the
 * error with the reason.
 */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as sdk from "../src/index.ts";
import * as internal from "../src/internal.ts";

test("browser.js has the exports of the package's entries, and no others", () => {
  const text = readFileSync(new URL("../browser.js", import.meta.url), "utf8");
  const names = [...text.matchAll(/nothing as (\w+)/g)].map(([, name]) => name);
  expect(names.toSorted()).toEqual(Object.keys({ ...sdk, ...internal }).toSorted());
});
