/**
 * Guarantees that PostgreSQL never runs as root. If this process is root, PostgreSQL runs as `nobody`, or as the owner
 * of existing data. Otherwise it runs as the user of this process. Also tells what the server's user can reach on disk.
 */

import { type SpawnOptions, spawnSync } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";

export interface ServerUser {
  readonly uid: number;
  readonly gid: number;
  /** True if the server runs as another user than this process. */
  readonly switched: boolean;
}

const nobody: ServerUser = { uid: 65534, gid: 65534, switched: true };

export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** Returns the user for a server whose data does not exist yet. */
export function userForNewData(): ServerUser {
  if (isRoot()) return nobody;
  return { uid: process.getuid?.() ?? -1, gid: process.getgid?.() ?? -1, switched: false };
}

/** Returns the user for existing data: PostgreSQL must run as the owner of its data directory. */
export function userForData(dataDirectory: string): ServerUser {
  if (!isRoot()) return userForNewData();
  const { uid, gid } = statSync(dataDirectory);
  return uid === 0 ? nobody : { uid, gid, switched: true };
}

/**
 * Returns the options for spawning child processes as this user. The environment is reduced to what PostgreSQL needs:
 * other processes of `nobody` can read it, PG* variables would change the server's behaviour, and an unknown locale
 * would prevent its start.
 */
export function spawnOptionsFor(user: ServerUser): SpawnOptions {
  const kept = ["PATH", "LD_LIBRARY_PATH", "SystemRoot", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR"];
  const env: NodeJS.ProcessEnv = { LC_ALL: "C" };
  for (const name of kept) {
    const value = process.env[name];
    if (value !== undefined) env[name] = value;
  }
  const identity = user.switched ? { uid: user.uid, gid: user.gid } : {};
  return { ...identity, env, windowsHide: true };
}

/** Asks the kernel instead of reading mode bits, because access lists and mount options also count. */
export function canAccess(user: ServerUser, path: string, kind: "read" | "execute"): boolean {
  if (!user.switched) {
    try {
      accessSync(path, kind === "read" ? constants.R_OK : constants.X_OK);
      return true;
    } catch {
      return false;
    }
  }
  const test = kind === "read" ? 'test -r "$1"' : 'test -x "$1"';
  return spawnSync("/bin/sh", ["-c", test, "sh", path], { ...spawnOptionsFor(user), cwd: "/" }).status === 0;
}
