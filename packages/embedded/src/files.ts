/**
 * Guarantees that small state files are either the old or the new text, never half of one, and that
 * writing one never follows a link somebody placed in its way.
 */

import { randomBytes } from "node:crypto";
import {
  closeSync,
  fchmodSync,
  fchownSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import type { ServerUser } from "./server-user.ts";

interface NewFile {
  readonly mode: number;
  /** Who shall own the file; default: this process. */
  readonly owner?: ServerUser;
}

/** Creates a file that must not exist yet. */
export function createFile(path: string, text: string, { mode, owner }: NewFile): void {
  const file = openSync(path, "wx", 0o600);
  try {
    writeFileSync(file, text);
    if (owner?.switched) fchownSync(file, owner.uid, owner.gid);
    fchmodSync(file, mode);
  } finally {
    closeSync(file);
  }
}

/** Creates or replaces a file in one step. */
export function replaceFile(path: string, text: string, file: NewFile): void {
  const temporary = temporaryName(path);
  try {
    createFile(temporary, text, file);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** The text of a file, or undefined when there is none or it cannot be read. */
export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

/** The object in a JSON file, or undefined when it is missing, torn or something else. */
export function readJson(path: string): Partial<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    return typeof value === "object" && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/** A sibling name nobody else uses; it names the process so that leftovers can be told from work in progress. */
export function temporaryName(path: string): string {
  return `${path}.tmp-${process.pid}-${randomBytes(6).toString("hex")}`;
}
