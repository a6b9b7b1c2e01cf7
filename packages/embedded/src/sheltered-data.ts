/**
 * Guarantees that data stored outside its directory is found again: a pointer file in the directory names its
 * location. A copied directory gets its own data, a moved directory keeps its data.
 */

import { createHash, randomBytes } from "node:crypto";
import { readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { readJson, replaceFile } from "./files.ts";
import { type Home, pointerFile } from "./home.ts";
import { readMark, writeMark } from "./mark.ts";
import { findPostmaster } from "./postmaster.ts";
import type { ServerUser } from "./server-user.ts";
import { isShelter, isTemporary, openShelter } from "./shelter.ts";

/** Returns the location in the pointer file of this directory, if there is one and the location can still be used. */
export function pointedData(home: Home): string | undefined {
  const { data, home: pointedFrom } = readJson(home.dataPointer) ?? {};
  if (typeof data !== "string" || typeof pointedFrom !== "string" || !isShelter(dirname(data)))
    return undefined;
  if (pointedFrom === home.path) return data;
  const { data: originals } = readJson(join(pointedFrom, pointerFile)) ?? {};
  return originals === data ? undefined : data;
}

/**
 * Chooses a location and writes it to the pointer file. Its name is random, so that data left by a removed checkout
 * with the same path is not used.
 */
export function pointOutside(home: Home, user: ServerUser): string {
  const shelter = openShelter(user, home.path);
  if (isTemporary(shelter)) removeAbandoned(shelter);
  const checkout = createHash("sha256").update(home.path).digest("hex").slice(0, 12);
  const data = join(shelter, `postgres-${home.version}-${checkout}-${randomBytes(4).toString("hex")}`);
  pointTo(home, data);
  return data;
}

/** Makes data and directory refer to each other again after the directory was moved. */
export function followMove(home: Home, data: string, user: ServerUser): void {
  if (readMark(data)?.home === home.path) return;
  writeMark(data, home, user);
  pointTo(home, data);
}

function pointTo(home: Home, data: string): void {
  replaceFile(home.dataPointer, `${JSON.stringify({ data, home: home.path })}\n`, { mode: 0o644 });
}

/** Removes data whose directory is gone: tests remove their temporary directories without knowing of data elsewhere. */
function removeAbandoned(shelter: string): void {
  for (const name of readdirSync(shelter)) {
    const data = join(shelter, name);
    const home = readMark(data)?.home;
    if (home === undefined || findPostmaster(data) !== undefined) continue;
    const { data: pointed } = readJson(join(home, pointerFile)) ?? {};
    if (pointed !== data) rmSync(data, { recursive: true, force: true });
  }
}
