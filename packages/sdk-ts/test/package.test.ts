/** The package as it is published: built, packed, and looked at by those who know what breaks. */
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { installPackage, missingFiles, type PublishedPackage, typeProblems } from "../../../test/package.ts";
import * as sdk from "../src/index.ts";

const run = promisify(execFile);
let sdkPackage: PublishedPackage;

beforeAll(async () => {
  sdkPackage = await installPackage(new URL("..", import.meta.url), "@jobforge/sdk-ts", [
    "browser.js",
    "README.md",
  ]);
});

afterAll(() => sdkPackage.remove());

test("it has every file that its package.json promises", async () => {
  expect(await missingFiles(sdkPackage)).toEqual([]);
});

test("its types are found by every way of importing it that it supports", async () => {
  expect(await typeProblems(sdkPackage)).toEqual([]);
});

test("its declarations need the types of no driver", async () => {
  const declarations = await readFile(join(sdkPackage.installed, "dist/index.d.ts"), "utf8");
  const imported = [...declarations.matchAll(/from "([^"]+)"/g)].map(([, name]) => name);
  expect(imported).toEqual(["@standard-schema/spec"]);
});

test("a bundle for browsers is told why it cannot have it, whatever it imports", async () => {
  const names = Object.keys(sdk);
  const program = `import { ${names.join(", ")} } from "@jobforge/sdk-ts"; console.log(${names.join(", ")});`;
  await writeFile(join(sdkPackage.directory, "program.js"), program);
  await writeFile(join(sdkPackage.directory, "package.json"), '{ "type": "module" }');
  const failure: unknown = await run(process.execPath, [
    "--conditions=browser",
    join(sdkPackage.directory, "program.js"),
  ]).catch((error: unknown) => error);
  expect(failure).toMatchObject({
    stderr: expect.stringContaining("@jobforge/sdk-ts does not run in a browser"),
  });
});
