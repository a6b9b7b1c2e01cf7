/** docs/reference/sdk.md is complete: it names everything that the package exports and every method of a client. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { JobForgeClient } from "../src/client.ts";
import { TransactionSchedules } from "../src/groups/schedules.ts";
import * as sdk from "../src/index.ts";
import { JobHandle } from "../src/jobs/handle.ts";

const reference = readFileSync(new URL("../../../docs/reference/sdk.md", import.meta.url), "utf8");

function methodsOf(prototype: object): string[] {
  return Object.getOwnPropertyNames(prototype).filter((name) => name !== "constructor");
}

test.for(Object.keys(sdk))("the reference names the export %s", (name) => {
  expect(reference).toMatch(new RegExp(`\`[^\`]*\\b${name}\\b[^\`]*\``));
});

test.for(
  [JobForgeClient, sdk.JobForge, JobHandle, TransactionSchedules].flatMap(({ prototype }) =>
    methodsOf(prototype),
  ),
)("the reference names the method %s", (name) => {
  expect(reference).toMatch(new RegExp(`[\`.]${name}\\(`));
});

const forge = new sdk.JobForge({ database: "postgres://nowhere" });
const groups = Object.entries(forge).filter(([name]) => name !== "transport");

test.for(
  groups.flatMap(([name, group]) => methodsOf(Object.getPrototypeOf(group)).map((each) => `${name}.${each}`)),
)("the reference names the method %s", (name) => {
  expect(reference).toContain(`${name}(`);
});
