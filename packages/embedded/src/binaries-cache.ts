/**
 * Guarantees a complete private copy of the PostgreSQL programs, one per version. The copy is made under a
 * temporary name and then renamed, so that several processes may copy at once. A copy that another user could
 * have placed there is refused.
 */

import { existsSync } from "node:fs";
import { chmod, copyFile, mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { EmbeddedPostgresError, systemCode } from "./errors.ts";
import { temporaryName } from "./files.ts";
import { linkLibraries } from "./library-links.ts";
import { isAlive } from "./processes.ts";
import { createOpen, refusalOf } from "./shelter.ts";

/** These files are only needed to compile against PostgreSQL. */
const leftOut = /\.a$|^pgxs$|^pkgconfig$|^include$/;

/** Returns the `native` directory of the copy. */
export async function copyToCache(native: string, cache: string, name: string): Promise<string> {
  createOpen(cache);
  const target = join(cache, name);
  trustOrThrow(cache);
  if (!existsSync(target)) {
    await removeAbandonedCopies(cache);
    await copyAndRename(native, target);
  }
  trustOrThrow(target);
  return target;
}

async function copyAndRename(native: string, target: string): Promise<void> {
  const temporary = temporaryName(target);
  try {
    await copyTree(native, temporary);
    linkLibraries(temporary);
    await rename(temporary, target);
  } catch (error) {
    // Another process finished the same copy first.
    if (!["EEXIST", "ENOTEMPTY", "EPERM"].includes(systemCode(error) ?? "") || !existsSync(target))
      throw error;
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/**
 * Sets the file modes instead of copying them, because the modes of the original may be too strict. Links are not
 * copied: `linkLibraries` creates them again.
 */
async function copyTree(from: string, to: string): Promise<void> {
  await mkdir(to);
  await chmod(to, 0o755);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (leftOut.test(entry.name)) continue;
    if (entry.isDirectory()) await copyTree(source, target);
    else if (entry.isFile()) {
      await copyFile(source, target);
      await chmod(target, 0o755);
    }
  }
}

async function removeAbandonedCopies(cache: string): Promise<void> {
  for (const name of await readdir(cache)) {
    const pid = /\.tmp-(\d+)-/.exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid)))
      await rm(join(cache, name), { recursive: true, force: true });
  }
}

function trustOrThrow(path: string): void {
  const refusal = refusalOf(path);
  if (refusal === undefined) return;
  throw new EmbeddedPostgresError(
    "unreadable",
    `Programs in ${path} cannot be trusted: ${refusal}.`,
    "Remove it, or choose another directory.",
  );
}
