/** The SDK's signatures are generated from sql/api.json, which a test of sql/ compares to the catalog. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

interface ApiFunction {
  readonly name: string;
  readonly parameters: readonly { readonly name: string; readonly type: string }[];
  readonly returns: { readonly type: string; readonly rows: boolean };
  readonly callers: readonly string[];
}

const api: { readonly functions: readonly ApiFunction[] } = JSON.parse(
  readFileSync(new URL("../../../sql/api.json", import.meta.url), "utf8"),
);

/** How a client reads the result of each type. */
const returns: Readonly<Record<string, string>> = {
  json: "json",
  jsonb: "json",
  text: "text",
  timestamptz: "timestamptz",
  void: "void",
  uuid: "uuid",
};

function generated(): string {
  const lines = api.functions.map(({ name, parameters, callers, returns: { type, rows } }) => {
    const kind = rows ? (type === "text" ? "parts" : "rows") : returns[type];
    if (kind === undefined) throw new Error(`${name} returns ${type}, which clients cannot read yet`);
    const listed = parameters.map((each) => `${each.name}: "${each.type}"`).join(", ");
    const roles = callers.map((role) => `"${role}"`).join(", ");
    const given = listed === "" ? "" : ` ${listed} `;
    return `  ${name}: { returns: "${kind}", callers: [${roles}], parameters: {${given}} },`;
  });
  return `/** Written from sql/api.json by \`npm run golden\`. Do not edit. */

/**
 * What a call returns: one JSON value; rows, which clients get as an array of objects; a JSON document as a text, or as
 * rows of texts that are its parts, which clients get parsed; a time; a uuid; or nothing.
 */
export type ApiReturns = "json" | "parts" | "rows" | "text" | "timestamptz" | "uuid" | "void";

interface Signature {
  readonly returns: ApiReturns;
  /** The roles that may call it. */
  readonly callers: readonly string[];
  /** Names with SQL types. */
  readonly parameters: Readonly<Record<string, string>>;
}

export const signatures: Readonly<Record<string, Signature>> = {
${lines.join("\n")}
};
`;
}

test("the SDK knows every public function (if the change is intended: npm run golden)", async () => {
  await expect(generated()).toMatchFileSnapshot("../src/transport/api.generated.ts");
});
