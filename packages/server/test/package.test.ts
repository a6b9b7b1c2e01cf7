/** The package as it is published. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { installPackage, missingFiles, type PublishedPackage, typeProblems } from "../../../test/package.ts";

let server: PublishedPackage;

beforeAll(async () => {
  server = await installPackage(new URL("..", import.meta.url), "@jobforge/server", ["README.md"]);
});

afterAll(() => server.remove());

test("it has every file that its package.json promises", async () => {
  expect(await missingFiles(server)).toEqual([]);
});

test("its types are found by every way of importing it that it supports", async () => {
  expect(await typeProblems(server)).toEqual([]);
});
