/**
 * Reads the SQL files of the kernel from the package. In the files, `:"api_schema"` and `:'api_schema'` stand for the
 * API schema. They are psql's notation for a quoted identifier and a quoted text.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import pg from "pg";
import manifest from "../package.json" with { type: "json" };

/** The folder of this package. A function, so that a bundle of an application can be loaded where the files are not. */
function root(): URL {
  return new URL("../", import.meta.url);
}

export interface SqlFile {
  /** The path below this package, such as `functions/claim/claim.sql`. For a migration, only the file name. */
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
}

export interface NumberedFile extends SqlFile {
  readonly number: number;
}

/** The repeatable files, in the order in which they are applied: see `apply-order.txt`. */
export interface RepeatableFiles {
  /** Functions that the definitions of tables use. */
  readonly beforeTables: readonly SqlFile[];
  readonly afterTables: readonly SqlFile[];
  /** Row security and grants, which are set on every object that exists. */
  readonly last: readonly SqlFile[];
}

/** The version of JobForge, which is the version of this package. */
export const version: string = manifest.version;

/** The oldest client that works with this schema. */
export const minClient: string = "0.1.0";

export function numberedFiles(apiSchema: string): NumberedFile[] {
  return sqlFilesIn("migrations").map((name) => ({
    ...readFile(`migrations/${name}`, apiSchema),
    name,
    number: Number.parseInt(name, 10),
  }));
}

export function repeatableFiles(apiSchema: string): RepeatableFiles {
  const order = readFileSync(new URL("apply-order.txt", root()), "utf8")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
  const found = ["functions", "security", "views"].flatMap((folder) =>
    sqlFilesIn(folder).map((name) => `${folder}/${name}`),
  );
  const unknown = order.filter((line) => line !== "migrations" && line !== "*" && !found.includes(line));
  if (unknown.length > 0)
    throw new Error(`apply-order.txt names files that do not exist: ${unknown.join(", ")}`);
  const [tables, others] = [order.indexOf("migrations"), order.indexOf("*")];
  if (tables < 0 || others < tables) throw new Error('apply-order.txt needs "migrations", and "*" after it');
  const unnamed = found.filter((name) => !order.includes(name));
  const read = (names: readonly string[]): SqlFile[] => names.map((name) => readFile(name, apiSchema));
  return {
    beforeTables: read(order.slice(0, tables)),
    afterTables: read([...order.slice(tables + 1, others), ...unnamed]),
    last: read(order.slice(others + 1)),
  };
}

/** The file that runs before all others, or after them: roles, schemas, and the right to create objects in them. */
export function setupFile(part: "before" | "after", apiSchema: string): string {
  return readFile(`setup/${part}.sql`, apiSchema).sql;
}

/** The SQL files of a folder, as paths below it, in the same order on every machine. */
function sqlFilesIn(folder: string): string[] {
  return readdirSync(new URL(`${folder}/`, root()), { recursive: true, encoding: "utf8" })
    .map((name) => name.replaceAll("\\", "/"))
    .filter((name) => name.endsWith(".sql"))
    .sort();
}

function readFile(name: string, apiSchema: string): SqlFile {
  const text = readFileSync(new URL(name, root()), "utf8");
  return { name, sql: fill(text, apiSchema), checksum: createHash("sha256").update(text).digest("hex") };
}

function fill(text: string, apiSchema: string): string {
  return text
    .replaceAll(':"api_schema"', pg.escapeIdentifier(apiSchema))
    .replaceAll(":'api_schema'", pg.escapeLiteral(apiSchema));
}
