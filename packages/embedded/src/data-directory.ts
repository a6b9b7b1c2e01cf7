/**
 * Guarantees a complete data directory that this package created. The directory gets its final name only after
 * initdb has finished and our mark is in it. So a crash during creation leaves no incomplete data directory, and data
 * without our mark is never touched.
 */

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Binaries } from "./binaries.ts";
import { EmbeddedPostgresError, systemCode } from "./errors.ts";
import { atExit } from "./exit.ts";
import { createFile } from "./files.ts";
import { type Home, unreadable } from "./home.ts";
import { lastLines } from "./log.ts";
import { readMark, writeMark } from "./mark.ts";
import { canAccess, type ServerUser, spawnOptionsFor, userForData, userForNewData } from "./server-user.ts";
import { followMove, pointedData, pointOutside } from "./sheltered-data.ts";

export interface DataDirectory {
  readonly path: string;
  readonly exists: boolean;
  readonly user: ServerUser;
}

/** Returns where the data is, or where it is to be created. */
export function locateData(home: Home): DataDirectory {
  const pointed = pointedData(home);
  const path = pointed ?? join(home.path, "data");
  if (existsSync(path)) {
    refuseForeignData(path);
    const user = userForData(path);
    refuseShutOut(path, user);
    if (pointed !== undefined) followMove(home, pointed, user);
    return { path: realpathSync(path), exists: true, user };
  }
  const user = userForNewData();
  const usable = pointed !== undefined || canAccess(user, home.path, "execute");
  return { path: usable ? path : pointOutside(home, user), exists: false, user };
}

/** Returns the data directory of a server that was started before, if this package created it. */
export function locateExistingData(home: Home): string | undefined {
  const path = pointedData(home) ?? join(home.path, "data");
  return readMark(path) === undefined ? undefined : realpathSync(path);
}

/** Creates the data directory with the given password for its superuser. */
export async function createData(
  { path, user }: DataDirectory,
  binaries: Binaries,
  { home, password, sync }: { home: Home; password: string; sync: boolean },
): Promise<void> {
  removeHalfDone(path);
  const staging = `${path}.init-${process.pid}-${randomBytes(6).toString("hex")}`;
  const [cluster, passwordFile] = [join(staging, "data"), join(staging, "password")];
  try {
    prepareStaging(staging, cluster, user);
    createFile(passwordFile, `${password}\n`, { mode: 0o600, owner: user });
    await runInitdb(binaries.initdb, initdbArguments(home, cluster, passwordFile, sync), user);
    writeMark(cluster, home, user);
    renameSync(cluster, path);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

/** The staging directory stays owned by this process's user. Only the cluster in it belongs to the server's user. */
function prepareStaging(staging: string, cluster: string, user: ServerUser): void {
  try {
    mkdirSync(staging);
    chmodSync(staging, user.switched ? 0o711 : 0o700);
    mkdirSync(cluster, 0o700);
    // Not every file system allows changing the owner.
    if (user.switched) chownSync(cluster, user.uid, user.gid);
  } catch (error) {
    throw unreadable(staging, error);
  }
}

/** Text sorts by code point, so that both versions and all machines sort in the same order. */
function initdbArguments(home: Home, cluster: string, passwordFile: string, sync: boolean): string[] {
  const provider = home.version >= 17 ? ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"] : [];
  return [
    ...["-D", cluster, "--username=postgres", "--auth=scram-sha-256", `--pwfile=${passwordFile}`],
    ...["--encoding=UTF8", "--locale=C", ...provider, "--no-instructions", ...(sync ? [] : ["--no-sync"])],
  ];
}

function runInitdb(program: string, args: string[], user: ServerUser): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      ...spawnOptionsFor(user),
      cwd: "/",
      stdio: ["ignore", "pipe", "pipe"],
    });
    const forget = atExit(() => child.kill("SIGKILL"));
    let output = "";
    const collect = (chunk: Buffer): void => {
      output += chunk.toString("utf8");
    };
    child.stdout?.on("data", collect);
    child.stderr?.on("data", collect);
    child.once("error", (error) => {
      forget();
      reject(initdbFailed(error.message, user));
    });
    child.once("close", (status) => {
      forget();
      if (status === 0) resolve();
      else reject(initdbFailed(lastLines(output), user));
    });
  });
}

function initdbFailed(output: string, { uid }: ServerUser): EmbeddedPostgresError {
  if (output.includes("could not look up effective user ID")) {
    return new EmbeddedPostgresError(
      "user_unknown",
      `PostgreSQL needs a user with a name, but user ${uid} has no name in /etc/passwd.`,
      "Run as a user with a name. In a container, add a line for this user to /etc/passwd.",
    );
  }
  const hint = "Check free disk space and the permissions of the directory.";
  return new EmbeddedPostgresError("start_failed", `initdb failed:\n${output}`, hint);
}

function refuseForeignData(path: string): void {
  try {
    readdirSync(path);
  } catch (error) {
    throw unreadable(path, error);
  }
  if (readMark(path) !== undefined) return;
  throw new EmbeddedPostgresError(
    "foreign_data",
    `${path} was not created by JobForge.`,
    "It has not been changed. Move it away, or choose another directory.",
  );
}

/** Fails if the server's user can no longer reach the data, because a parent directory was closed after creation. */
function refuseShutOut(path: string, user: ServerUser): void {
  if (canAccess(user, path, "execute")) return;
  throw new EmbeddedPostgresError(
    "unreadable",
    `The data in ${path} belongs to user ${user.uid}, who can no longer enter that directory.`,
    "Allow all users to enter its parent directories again, or choose another directory.",
  );
}

/** The initdb of a killed process may still be writing there. In that case the next start removes the directory. */
function removeIfQuiet(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true, maxRetries: 3, retryDelay: 20 });
  } catch (error) {
    if (systemCode(error) !== "ENOTEMPTY") throw error;
  }
}

function removeHalfDone(path: string): void {
  const prefix = `${basename(path)}.init-`;
  for (const name of readdirSync(dirname(path))) {
    if (name.startsWith(prefix)) removeIfQuiet(join(dirname(path), name));
  }
}
