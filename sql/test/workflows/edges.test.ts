/** The xmax of an edge must mean that its need is ending at this moment, and nothing else. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";

test("no foreign key leads to or from edges, so no other statement stamps its rows", async ({ db }) => {
  expect(
    await db.query(
      `select conname from pg_constraint
       where contype = 'f' and 'jobforge.edges'::regclass in (conrelid, confrelid)`,
    ),
  ).toEqual([]);
  expect(await db.query("select tgname from pg_trigger where tgrelid = 'jobforge.edges'::regclass")).toEqual(
    [],
  );
});

test("no function updates edges, or locks its rows", async ({ db }) => {
  const functions = await db.query<{ name: string; text: string }>(
    "select proname as name, prosrc as text from pg_proc where prosrc ~ '\\medges\\M'",
  );
  expect(functions.length).toBeGreaterThan(5);
  for (const { name, text } of functions) {
    const code = text.replaceAll(/--.*$/gm, "").replaceAll(/\s+/g, " ");
    expect(code, name).not.toMatch(/update (jobforge\.)?edges\b/);
    // A locking clause follows the tables of its own select.
    for (const [select] of code.matchAll(/\bfrom (jobforge\.)?edges\b[^;()]*/g))
      expect(select, name).not.toMatch(/\bfor (no key )?(update|share|key share)\b/);
  }
});
