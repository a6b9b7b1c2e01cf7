/**
 * Guarantees that the server log is private and does not grow without limit, and that a failed start can quote the
 * lines the server has written since that start.
 */

import {
  closeSync,
  constants,
  existsSync,
  fchownSync,
  fstatSync,
  openSync,
  readSync,
  renameSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import { isRoot } from "./server-user.ts";

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;

const rotateBytes = 10 * 1024 * 1024;
const quotedLines = 20;
const quotedBytes = 64 * 1024;

export interface ServerLog {
  /** The file descriptor for the server's output. The caller closes it. */
  readonly file: number;
  /** Returns the last lines written since the log was opened. */
  tail(): string;
}

export function openLog(path: string): ServerLog {
  if (existsSync(path) && statSync(path).size > rotateBytes) renameSync(path, `${path}.old`);
  // Never follow a link: as root, the server could append to any file of the system.
  const file = openSync(path, O_WRONLY | O_APPEND | O_CREAT | (O_NOFOLLOW ?? 0), 0o600);
  giveToOwnerOf(dirname(path), file);
  const start = fstatSync(file).size;
  return { file, tail: () => readTail(path, start) };
}

/** Root may run the server of another user. That user must be able to write the log at the next start. */
function giveToOwnerOf(directory: string, file: number): void {
  const { uid, gid } = statSync(directory);
  if (isRoot() && uid !== 0) fchownSync(file, uid, gid);
}

function readTail(path: string, start: number): string {
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    const from = Math.max(start, size - quotedBytes);
    const buffer = Buffer.alloc(Math.max(0, size - from));
    const read = readSync(file, buffer, 0, buffer.length, from);
    return lastLines(buffer.toString("utf8", 0, read));
  } finally {
    closeSync(file);
  }
}

export function lastLines(text: string): string {
  return text.trimEnd().split("\n").slice(-quotedLines).join("\n");
}
