/** browser.js has every export of the package, so that a bundler finds each import and the program reaches the reason. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as sdk from "../src/index.ts";

test("browser.js has the exports of the package, and no others", () => {
  const text = readFileSync(new URL("../browser.js", import.meta.url), "utf8");
  const names = [...text.matchAll(/nothing as (\w+)/g)].map(([, name]) => name);
  expect(names.toSorted()).toEqual(Object.keys(sdk).toSorted());
});
