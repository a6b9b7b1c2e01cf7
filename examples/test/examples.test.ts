/** Runs each example, and compares what it prints with its comments that begin with an arrow. */
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect } from "vitest";
import { test } from "../../test/database.ts";

const folder = new URL("../", import.meta.url);
const root = fileURLToPath(new URL("../../", import.meta.url));
const names: readonly string[] = readdirSync(folder).filter((name) => name.endsWith(".ts"));

test.for(names)("%s prints what its comments say", async (name, { db }) => {
  const text = readFileSync(new URL(name, folder), "utf8");
  const expected = [...text.matchAll(/\/\/ → (.*)$/gm)].map(([, line]) => line);
  expect(expected.length).toBeGreaterThan(0);
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--import", import.meta.resolve("tsx"), fileURLToPath(new URL(name, folder))],
    // Of the root, because the paths of its tsconfig.json lead to the sources of the packages.
    { cwd: root, env: { ...process.env, DATABASE_URL: db.url, LOG_LEVEL: "silent", NO_COLOR: "1" } },
  );
  expect(stdout.trimEnd().split("\n")).toEqual(expected);
});

test("the page of the examples names each of them", () => {
  const page = readFileSync(new URL("README.md", folder), "utf8");
  for (const name of names) expect(page).toContain(`[${name}](${name})`);
});
