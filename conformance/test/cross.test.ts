/** Programs of both languages on one queue: each scenario is played in both directions. */
import { describe } from "vitest";
import { test } from "../../test/database.ts";
import { loadScenarios } from "../runner/load.ts";
import { crossArea, playTogether, reportMissing, timeoutMs, titleOf } from "../runner/suite.ts";
import { missing } from "../runner/targets.ts";

const scenarios = loadScenarios().filter(({ area }) => area === crossArea);
const lack = await missing({ language: "py", way: "postgres" });
const pairs = [
  { first: "ts", second: "py" },
  { first: "py", second: "ts" },
] as const;

if (lack !== undefined) reportMissing("cross", lack);
else
  describe.each(pairs)("first in $first, second in $second", (languages) => {
    for (const loaded of scenarios)
      test(titleOf(loaded), { timeout: timeoutMs }, ({ db }) => playTogether(loaded, languages, db));
  });

// Without Python, the scenarios still have to hold between two programs of one language.
describe("both in TypeScript", () => {
  for (const loaded of scenarios)
    test(titleOf(loaded), { timeout: timeoutMs }, ({ db }) =>
      playTogether(loaded, { first: "ts", second: "ts" }, db),
    );
});
