/** Checks the threat model in SECURITY.md: every row names tests, and every test exists. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readPage, root } from "./markdown.ts";

const { text } = readPage("SECURITY.md");
const [, model = ""] = text.split("## Threat model");
const [table = ""] = model.split("\n## ");
const rows = table
  .split("\n")
  .filter((line) => line.startsWith("|"))
  .slice(2)
  .map((line) => line.split("|").map((cell) => cell.trim()));

describe("the threat model", () => {
  test("has a row for every role of a caller", () => {
    const callers = rows.map(([, who = ""]) => who).join("\n");
    for (const role of ["tenant", "app", "worker", "reader", "operator", "owner"])
      expect(callers).toContain(`jobforge_${role}`);
  });

  test.for(rows)("names existing tests for: %s", ([, who = "", may, mayNot, how, tests = ""]) => {
    for (const cell of [who, may, mayNot, how]) expect(cell).not.toBe("");
    const paths = [...tests.matchAll(/\]\(([^)]+)\)/g)].map(([, path = ""]) => path);
    expect(paths.length).toBeGreaterThan(0);
    for (const path of paths) {
      expect(path).toMatch(/\.test\.ts$/);
      expect(existsSync(join(root, path)), path).toBe(true);
    }
  });
});
