/**
 * Guarantees that a small state file contains either the old or the new text, never a part of it, and that writing
 * one never follows a link that another user placed there.
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
  /** The owner of the file. Default: the user of this process. */
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

/** Returns the text of a file, or undefined if it does not exist or cannot be read. */
export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

/** Returns the object in a JSON file, or undefined if the file is missing, incomplete or not an object. */
export function readJson(path: string): Partial<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    return typeof value === "object" && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns a unique name in the same directory. It contains the process id, so that leftovers can be distinguished
 * from work in progress.
 */
export function temporaryName(path: string): string {
  return `${path}.tmp-${process.pid}-${randomBytes(6).toString("hex")}`;
}
