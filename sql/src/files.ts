/**
 * The SQL files of the kernel, read from the package. `:"api_schema"` and `:'api_schema'` (psql's notation for a
 * quoted identifier and a quoted text) stand for the API schema.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { escapeIdentifier, escapeLiteral } from "pg";

const root: URL = new URL("../", import.meta.url);

export interface SqlFile {
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
}

export interface NumberedFile extends SqlFile {
  readonly number: number;
}

/** JobForge's version: that of this package. */
export const version: string = JSON.parse(readFileSync(new URL("package.json", root), "utf8")).version;

/** The oldest client that works with this schema. */
export const minClient: string = "0.1.0";

export function numberedFiles(apiSchema: string): NumberedFile[] {
  return readFolder("migrations", apiSchema).map((file) => ({
    ...file,
    number: Number.parseInt(file.name, 10),
  }));
}

export function repeatableFiles(apiSchema: string): SqlFile[] {
  return readFolder("repeatable", apiSchema);
}

/** Roles and schemas, around everything else. */
export function setupFile(part: "before" | "after", apiSchema: string): string {
  return fill(readFileSync(new URL(`setup/${part}.sql`, root), "utf8"), apiSchema);
}

function readFolder(folder: string, apiSchema: string): SqlFile[] {
  return readdirSync(new URL(`${folder}/`, root))
    .filter((name) => name.endsWith(".sql"))
    .sort()
    .map((name) => {
      const text = readFileSync(new URL(`${folder}/${name}`, root), "utf8");
      return { name, sql: fill(text, apiSchema), checksum: createHash("sha256").update(text).digest("hex") };
    });
}

function fill(text: string, apiSchema: string): string {
  return text
    .replaceAll(':"api_schema"', escapeIdentifier(apiSchema))
    .replaceAll(":'api_schema'", escapeLiteral(apiSchema));
}
