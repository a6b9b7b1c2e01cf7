/**
 * Guarantees a shelter: a directory outside the checkout that the server's user can reach, for a checkout that only
 * root can enter (for example below /root with mode 0700). No other user can have prepared the shelter, because it
 * belongs to root and only root can write there. The permissions of the user's own directories are never loosened.
 */

import { chmodSync, existsSync, lstatSync, mkdirSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve, sep } from "node:path";
import { EmbeddedPostgresError, systemCode } from "./errors.ts";
import { canAccess, type ServerUser } from "./server-user.ts";

/** Returns a shelter for files that belong to `directory`. */
export function openShelter(user: ServerUser, directory: string): string {
  const refusals: string[] = [];
  for (const candidate of candidatesFor(directory)) {
    const refusal = prepare(candidate, user);
    if (refusal === undefined) return realpathSync(candidate);
    refusals.push(`${candidate}: ${refusal}`);
  }
  throw new EmbeddedPostgresError(
    "unreadable",
    `PostgreSQL cannot run as root, and user ${user.uid} cannot reach ${directory} or any of\n${refusals.join("\n")}`,
    "Run as an ordinary user, or set JOBFORGE_EMBEDDED_HOME to one of your directories that all users can enter.",
  );
}

/** Whether this directory can still be used as a shelter. */
export function isShelter(path: string): boolean {
  return existsSync(path) && refusalOf(path) === undefined;
}

/** Returns the directory the user chose, else directories that survive a reboot, unless `directory` is temporary. */
function candidatesFor(directory: string): string[] {
  const { JOBFORGE_EMBEDDED_HOME: chosen } = process.env;
  if (chosen) return [resolve(chosen)];
  const own = `jobforge-${process.getuid?.() ?? 0}`;
  const temporary = join(tmpdir(), own);
  return isTemporary(directory) ? [temporary] : ["/var/lib/jobforge", join("/var/tmp", own), temporary];
}

export function isTemporary(path: string): boolean {
  return path.startsWith(realpathSync(tmpdir()) + sep);
}

function prepare(path: string, user: ServerUser): string | undefined {
  try {
    if (!canAccess(user, dirname(path), "execute")) return `user ${user.uid} cannot enter its parent`;
    createOpen(path);
    return (
      refusalOf(path) ?? (canAccess(user, path, "execute") ? undefined : `user ${user.uid} cannot enter it`)
    );
  } catch (error) {
    return systemCode(error) ?? String(error);
  }
}

/** Creates a directory that all users can enter and only this user can change, whatever the umask. */
export function createOpen(path: string): void {
  try {
    mkdirSync(path, 0o755);
    chmodSync(path, 0o755);
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
  }
}

/** Returns why a directory must not hold programs we run: another user owns it or can write to it. */
export function refusalOf(path: string): string | undefined {
  const found = lstatSync(path);
  if (!found.isDirectory()) return "not a directory";
  // Root could change anything anyway.
  if (process.getuid !== undefined && ![process.getuid(), 0].includes(found.uid))
    return `belongs to user ${found.uid}`;
  if (process.platform !== "win32" && (found.mode & 0o022) !== 0) return "others can write to it";
  return undefined;
}
