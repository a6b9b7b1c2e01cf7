/** `sql/api.json` is what the catalog and the folders of the functions say. */
import { readdirSync, readFileSync } from "node:fs";
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { type ApiDescription, describeApi } from "../support/api.ts";

const functions = new URL("../../functions/", import.meta.url);

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
