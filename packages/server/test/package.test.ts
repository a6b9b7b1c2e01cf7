/** The package as published. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { installPackage, missingFiles, type PublishedPackage, typeProblems } from "../../../test/package.ts";

let server: PublishedPackage;

beforeAll(async () => {
  server = await installPackage(new URL("..", import.meta.url), "@jobforge/server", ["README.md"]);
});

afterAll(() => server.remove());

test("the package contains every file that package.json names", async () => {
  expect(await missingFiles(server)).toEqual([]);
});

test("its types resolve in every supported module system", async () => {
  expect(await typeProblems(server)).toEqual([]);
});
