/** docs/reference/sdk.md is complete: it names everything that the package exports and every method of a client. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { JobForgeClient } from "../src/client.ts";
import { JobHandle } from "../src/handle.ts";
import * as sdk from "../src/index.ts";
import { Operations } from "../src/operations.ts";
import { Schedules, TransactionSchedules } from "../src/schedules.ts";

const reference = readFileSync(new URL("../../../docs/reference/sdk.md", import.meta.url), "utf8");

function methodsOf(prototype: object): string[] {
  return Object.getOwnPropertyNames(prototype).filter((name) => name !== "constructor");
}

test.for(Object.keys(sdk))("the reference names the export %s", (name) => {
  expect(reference).toMatch(new RegExp(`\`[^\`]*\\b${name}\\b[^\`]*\``));
});

test.for(
  [JobForgeClient, sdk.JobForge, Operations, JobHandle, Schedules, TransactionSchedules].flatMap(
    ({ prototype }) => methodsOf(prototype),
  ),
)("the reference names the method %s", (name) => {
  expect(reference).toMatch(new RegExp(`[\`.]${name}\\(`));
});
