/** Files that a command reads or writes. */
import { NotFoundError } from "./failures.ts";

const reasons: Readonly<Record<string, string>> = {
  ENOENT: "it does not exist",
  EACCES: "permission denied",
  EPERM: "permission denied",
  EISDIR: "it is a directory",
  ENOTDIR: "a part of the path is not a directory",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full",
};

/** Returns the error of a file that cannot be read or written, in words. Its exit code is 4. */
export function fileError(change: "read" | "written", path: string, error: unknown): NotFoundError {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const missing = change === "written" && code === "ENOENT" ? "its directory does not exist" : undefined;
  const reason = missing ?? reasons[code] ?? (error instanceof Error ? error.message : String(error));
  return new NotFoundError(`The file ${path} cannot be ${change}: ${reason}.`);
}
