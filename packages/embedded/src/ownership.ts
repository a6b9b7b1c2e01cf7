/**
 * Guarantees that at most one living process owns a server directory, even if several start at once or the last owner
 * was killed. The `owner.<n>.json` with the highest number names the owner. Each number is created only once and the
 * highest is never deleted, so exactly one process wins the claim after an owner has died.
 */

import { linkSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemCode } from "./errors.ts";
import { createFile, readJson, replaceFile, temporaryName } from "./files.ts";
import { identityOf, isSameProcessAlive, type ProcessIdentity } from "./processes.ts";

export interface Owner extends ProcessIdentity {
  /** Port of its server, as soon as that is running. */
  readonly port: number | undefined;
  readonly released: boolean;
  /** Identity of the directory it owns. A copied directory contains a copied file that names no owner of the copy. */
  readonly owns: string | undefined;
}

interface Claim {
  readonly generation: number;
  readonly owner: Owner | undefined;
}

export interface Ownership {
  /** Publishes the port of the owned server to other processes. */
  announce(port: number): void;
  release(): void;
}

/** Claims the directory, or returns the living process that owns it. */
export function claimOwnership(home: string): Ownership | { readonly heldBy: Owner } {
  for (;;) {
    const current = newestClaim(home);
    if (current?.owner !== undefined && holds(current.owner, home)) return { heldBy: current.owner };
    const generation = (current?.generation ?? 0) + 1;
    if (!createComplete(claimPath(home, generation), describe(home, undefined, false))) continue;
    if (newestClaim(home)?.generation !== generation) {
      // The list was outdated: meanwhile others took over and finished, so that our number was free again.
      rmSync(claimPath(home, generation), { force: true });
      continue;
    }
    removeOlder(home, generation);
    return ownershipOf(home, claimPath(home, generation));
  }
}

function ownershipOf(home: string, path: string): Ownership {
  return {
    announce: (port) => replaceFile(path, describe(home, port, false), { mode: 0o644 }),
    release: () => ignoringGone(() => replaceFile(path, describe(home, undefined, true), { mode: 0o644 })),
  };
}

/** Tests remove their directory before they stop the server. */
function ignoringGone(write: () => void): void {
  try {
    write();
  } catch (error) {
    if (systemCode(error) !== "ENOENT") throw error;
  }
}

function holds(owner: Owner, home: string): boolean {
  return !owner.released && owner.owns === directoryIdentity(home) && isSameProcessAlive(owner);
}

function describe(home: string, port: number | undefined, released: boolean): string {
  return `${JSON.stringify({ ...identityOf(process.pid), port, released, owns: directoryIdentity(home) })}\n`;
}

function directoryIdentity(home: string): string {
  const { dev, ino } = statSync(home);
  return `${dev}:${ino}`;
}

function claimPath(home: string, generation: number): string {
  return join(home, `owner.${generation}.json`);
}

function newestClaim(home: string): Claim | undefined {
  const generation = Math.max(0, ...readdirSync(home).map(generationOf));
  return generation === 0 ? undefined : { generation, owner: readOwner(claimPath(home, generation)) };
}

function generationOf(name: string): number {
  return Number(/^owner\.(\d+)\.json$/.exec(name)?.[1] ?? 0);
}

function readOwner(path: string): Owner | undefined {
  const { pid, startedAt, port, released, owns } = readJson(path) ?? {};
  if (typeof pid !== "number") return undefined;
  return {
    pid,
    startedAt: typeof startedAt === "string" ? startedAt : undefined,
    port: typeof port === "number" ? port : undefined,
    released: released === true,
    owns: typeof owns === "string" ? owns : undefined,
  };
}

/** Creates a file that appears with its complete text. Returns false if another process was faster. */
function createComplete(path: string, text: string): boolean {
  const temporary = temporaryName(path);
  try {
    createFile(temporary, text, { mode: 0o644 });
    return tryCreate(() => linkSync(temporary, path)) ?? tryCreate(() => writeNew(path, text)) ?? false;
  } finally {
    rmSync(temporary, { force: true });
  }
}

function writeNew(path: string, text: string): void {
  writeFileSync(path, text, { flag: "wx", mode: 0o644 });
}

/**
 * Returns undefined if the file system has no hard links. ENOENT means that another claimant removed our temporary
 * file.
 */
function tryCreate(create: () => void): boolean | undefined {
  try {
    create();
    return true;
  } catch (error) {
    const code = systemCode(error) ?? "";
    if (["EEXIST", "ENOENT"].includes(code)) return false;
    if (["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"].includes(code)) return undefined;
    throw error;
  }
}

function removeOlder(home: string, generation: number): void {
  for (const name of readdirSync(home)) {
    const older = /^owner\.(\d+)\.json/.exec(name);
    if (older !== null && Number(older[1]) < generation) rmSync(join(home, name), { force: true });
  }
}
