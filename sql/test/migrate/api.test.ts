/** Checks that `sql/api.json` and the reference agree with the catalog and with the folders of the functions. */
import { readdirSync, readFileSync } from "node:fs";
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { type ApiDescription, describeApi } from "../support/api.ts";

const functions = new URL("../../functions/", import.meta.url);
const reference = new URL("../../../docs/reference/sql/", import.meta.url);

/** Each public function with the folder whose file creates it. */
function groupsOfFunctions(): Map<string, string> {
  const files = readdirSync(functions, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".sql"),
  );
  return new Map(
    files.flatMap((file) => {
      const created = readFileSync(new URL(file, functions), "utf8").matchAll(
        /^create or replace function :"api_schema"\.(\w+)/gm,
      );
      return [...created].map(([, name = ""]) => [name, file.split(/[\\/]/)[0] ?? ""] as const);
    }),
  );
}

/** JSON with one line for each parameter and column, so that a change is easy to see in review. */
function written(api: ApiDescription): string {
  const text = JSON.stringify(api, null, 2);
  return `${text.replaceAll(/\{\n +"name": ("[^"]*"),\n +"type": ("[^"]*")(?:,\n +"default": ("(?:[^"\\]|\\.)*"))?\n +\}/g, (_, name, type, value) => `{ "name": ${name}, "type": ${type}${value ? `, "default": ${value}` : ""} }`)}\n`;
}

test("sql/api.json describes every public function and view (if the change is intended: npm run golden)", async ({
  db,
}) => {
  const api = await describeApi(db, groupsOfFunctions());
  await expect(written(api)).toMatchFileSnapshot("../../api.json");
});

test("every public function is created by a file of one folder, and documented on the page of that name", () => {
  const pages = new Map(
    readdirSync(reference).map((page) => [
      page.replace(".md", ""),
      readFileSync(new URL(page, reference), "utf8"),
    ]),
  );
  const misplaced = [...groupsOfFunctions()].filter(
    ([name, group]) => !new RegExp(`^#+ ${name}$`, "m").test(pages.get(group) ?? ""),
  );
  expect(misplaced).toEqual([]);
});
