/**
 * Runs the samples of the documentation. Each page has a database of its own. Its SQL blocks run in order, as superuser
 * unless the opening line has options:
 *   as=NAME        run with the rights of that login, which an earlier block of the page creates
 *   error=CODE     expect the block to fail with this SQLSTATE
 *   after="1 hour" run as if that much time had passed
 * Comment lines at the end of a block that start with an arrow are the rows that its last statement returns.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { cloneDatabase, type TestConnection, type TestDatabase } from "@jobforge/testing";
import type { QueryArrayResult } from "pg";
import { describe, expect, inject } from "vitest";
import { runCli } from "../../packages/cli/src/run.ts";
import { test } from "../../test/database.ts";
import { type Block, brokenLinks, type Page, readPages, root } from "./markdown.ts";

const pages: readonly Page[] = readPages();
const scripts: Readonly<Record<string, string>> = JSON.parse(
  readFileSync(join(root, "package.json"), "utf8"),
).scripts;

function withBlocks(language: string): Page[] {
  return pages.filter((page) => page.blocks.some((block) => block.language === language));
}

describe("SQL samples", () => {
  test.for(withBlocks("sql"))("of $name", async (page, { db }) => {
    const blocks = page.blocks.filter((block) => block.language === "sql");
    const roles = blocks.flatMap((block) =>
      [...block.text.matchAll(/create role (\w+)/g)].map((match) => match[1]),
    );
    const connections = new Map<string, TestConnection>();
    try {
      for (const block of blocks) await runBlock(page, block, await connectionFor(block, db, connections));
    } finally {
      await Promise.all([...connections.values()].map((connection) => connection.close()));
      // Roles belong to the whole server, so they would outlive the database of the test.
      for (const role of roles) await dropRole(db, role);
    }
  });
});

async function dropRole(db: TestDatabase, role: string | undefined): Promise<void> {
  if (await db.value<boolean>("select to_regrole($1) is null", [role])) return;
  await db.query(`drop owned by ${role}`);
  await db.query(`drop role ${role}`);
}

async function connectionFor(
  block: Block,
  db: TestDatabase,
  connections: Map<string, TestConnection>,
): Promise<TestConnection> {
  const login = block.options["as"] ?? "";
  const open = connections.get(login);
  if (open) return open;
  const connection = await db.connect();
  connections.set(login, connection);
  if (login !== "") await connection.query(`set session authorization ${login}`);
  return connection;
}

async function runBlock(page: Page, block: Block, connection: TestConnection): Promise<void> {
  const place = `${page.name}:${block.line}`;
  expect(block.text, `${place}: samples are SQL, without commands of psql`).not.toMatch(/^\\/m);
  await connection.travel(block.options["after"] ?? "0");
  let code: unknown;
  let rows: string[] = [];
  try {
    const result: QueryArrayResult | QueryArrayResult[] = await connection.client.query({
      text: block.text,
      rowMode: "array",
    });
    rows = [result].flat().at(-1)?.rows.map(describeRow) ?? [];
  } catch (error) {
    if (!(error instanceof Error && "code" in error)) throw error;
    if (error.code !== block.options["error"])
      throw new Error(`${place}: ${error.message}`, { cause: error });
    code = error.code;
    await connection.query("rollback");
  }
  await connection.travel("0");
  expect(code, `${place} should fail`).toBe(block.options["error"]);
  const expected = block.text.split("\n").filter((line) => line.startsWith("-- → "));
  if (expected.length > 0) expect(rows, place).toEqual(expected.map((line) => line.slice("-- → ".length)));
}

function describeRow(row: readonly unknown[]): string {
  return row.map((value) => (typeof value === "string" ? value : JSON.stringify(value))).join(" | ");
}

describe("commands", () => {
  test.for(withBlocks("sh"))("of $name exist and have these options", async (page) => {
    for (const block of page.blocks.filter((each) => each.language === "sh")) {
      await using empty = await cloneDatabase({ ...inject("server"), template: "template0" });
      for (const line of block.text.split("\n")) {
        const place = `${page.name}:${block.line}: ${line}`;
        const words = line
          .replace(/(^|\s)(#|>).*$/, "")
          .trim()
          .split(/\s+/);
        if (words[0] === "npm") expect(Object.keys(scripts), place).toContain(npmScript(words));
        if (words[0] === "npx" && words[1] === "jobforge")
          await runJobforge(words.slice(2), empty.url, place);
      }
    }
  });
});

function npmScript(words: readonly string[]): string | undefined {
  // These are commands of npm itself. The first one runs the script prepare.
  if (words[1] === "install" || words[1] === "pkg") return "prepare";
  return words[1] === "run" ? words.at(2) : words[1];
}

/** Runs the command against an empty database. Commands that run until Ctrl-C only print their help. */
async function runJobforge(words: readonly string[], url: string, place: string): Promise<void> {
  const args = words.map((word) => (/^"?(\$DATABASE_URL|postgres:\/\/)/.test(word) ? url : word));
  let output = "";
  const collect = {
    write: (text: string) => {
      output += text;
    },
  };
  const exitCode = await runCli(args[0] === "dev" || args[0] === "worker" ? [...args, "--help"] : args, {
    stdout: collect,
    stderr: collect,
    env: { DATABASE_URL: url },
  });
  expect(args.includes("--status") ? [0, 1] : [0], `${place}\n${output}`).toContain(exitCode);
}

test.for([...pages])("the links of $name have a target", (page) => {
  expect(brokenLinks(page)).toEqual([]);
});
