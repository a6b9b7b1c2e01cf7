/**
 * Guarantees that the process named in a postmaster.pid counts as our server only if it serves exactly this data
 * directory. A file left by a crash or copied from elsewhere never leads to an unrelated process.
 */

import { realpathSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { readIfThere, replaceFile } from "./files.ts";
import { commandLine, isAlive, workingDirectory } from "./processes.ts";
import type { ServerUser } from "./server-user.ts";

export interface PidFile {
  readonly pid: number;
  readonly dataDirectory: string;
  readonly port: number;
  readonly ready: boolean;
}

export function readPidFile(dataDirectory: string): PidFile | undefined {
  const lines = readIfThere(pidFilePath(dataDirectory))?.split("\n");
  const pid = Number(lines?.[0]);
  if (lines === undefined || !Number.isInteger(pid) || pid <= 0) return undefined;
  const [, claimed = "", , port = "", , , , status = ""] = lines;
  return { pid, dataDirectory: claimed, port: Number(port), ready: status.trim() === "ready" };
}

/** Returns the server of this data directory, if one is alive. */
export function findPostmaster(dataDirectory: string): PidFile | undefined {
  const file = readPidFile(dataDirectory);
  return file !== undefined && isPostmasterOf(file, dataDirectory) ? file : undefined;
}

function isPostmasterOf(file: PidFile, dataDirectory: string): boolean {
  if (!isAlive(file.pid) || resolved(file.dataDirectory) !== dataDirectory) return false;
  const command = commandLine(file.pid);
  // Windows does not report it, so the file and the living process must suffice.
  if (command === undefined) return process.platform === "win32";
  if (command.length === 1)
    return command[0]?.includes("postgres") === true && command[0].includes(dataDirectory);
  const servesIt = command.includes(dataDirectory) || workingDirectory(file.pid) === dataDirectory;
  return servesIt && basename(command[0] ?? "").startsWith("postgres");
}

/**
 * PostgreSQL refuses to start if postmaster.pid names any living process of the same user. If that process is
 * unrelated, the file is changed to name this process. PostgreSQL ignores the process id of its parent, but still uses
 * the rest of the file to make sure that no old backend is attached to the data.
 */
export function disarmStalePidFile(dataDirectory: string, user: ServerUser): void {
  const path = pidFilePath(dataDirectory);
  const file = readPidFile(dataDirectory);
  if (file === undefined || !isAlive(file.pid) || isPostmasterOf(file, dataDirectory)) return;
  if (process.platform === "win32") {
    rmSync(path, { force: true });
    return;
  }
  const [, ...rest] = (readIfThere(path) ?? "").split("\n");
  replaceFile(path, [process.pid, ...rest].join("\n"), { mode: 0o600, owner: user });
}

/** Whether the running server was started with exactly these arguments. It stores its command line in a file. */
export function wasStartedWith(dataDirectory: string, args: readonly string[]): boolean {
  const started = readIfThere(join(dataDirectory, "postmaster.opts"))?.trimEnd();
  return started?.endsWith(args.map((arg) => `"${arg}"`).join(" ")) === true;
}

function pidFilePath(dataDirectory: string): string {
  return join(dataDirectory, "postmaster.pid");
}

function resolved(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
