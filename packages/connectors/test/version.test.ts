import { expect, test } from "vitest";
import manifest from "../package.json" with { type: "json" };
import { version } from "../src/version.ts";

test("requests report the version of the package", () => {
  expect(version).toBe(manifest.version);
});
