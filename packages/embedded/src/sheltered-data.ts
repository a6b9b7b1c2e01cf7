// Guarantees that data kept outside its directory is found again: a pointer in the directory says where it
// is. A copied directory gets data of its own, a moved one keeps its data.

import { createHash, randomBytes } from "node:crypto";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { readJson, replaceFile } from "./files.ts";
import type { Home } from "./home.ts";
import { readMark } from "./mark.ts";
import { findPostmaster } from "./postmaster.ts";
import type { ServerUser } from "./server-user.ts";
import { isShelter, isTemporary, openShelter } from "./shelter.ts";

/** Where the pointer of this directory leads, if it has one and the place can still be used. */
export function pointedData(home: Home): string | undefined {
  const { data, home: pointedFrom } = readJson(home.dataPointer) ?? {};
  if (typeof data !== "string" || typeof pointedFrom !== "string" || !isShelter(dirname(data)))
    return undefined;
  if (pointedFrom === home.path) return data;
  const { data: originals } = readJson(join(pointedFrom, basename(home.dataPointer))) ?? {};
  return originals === data ? undefined : data;
}

/** Chooses a place and points to it. Random, so that what a removed checkout of the same name left is not mixed in. */
export function pointOutside(home: Home, user: ServerUser): string {
  const shelter = openShelter(user, home.path);
  if (isTemporary(shelter)) removeAbandoned(shelter);
  const checkout = createHash("sha256").update(home.path).digest("hex").slice(0, 12);
  const data = join(shelter, `postgres-${home.version}-${checkout}-${randomBytes(4).toString("hex")}`);
  pointTo(home, data);
  return data;
}

/** Also notes a new place of the directory itself, after it was moved. */
export function pointTo(home: Home, data: string): void {
  replaceFile(home.dataPointer, `${JSON.stringify({ data, home: home.path })}\n`, { mode: 0o644 });
}

/** Tests remove their temporary directories and do not know of data elsewhere. */
function removeAbandoned(shelter: string): void {
  for (const name of readdirSync(shelter)) {
    const data = join(shelter, name);
    const home = readMark(data)?.home;
    if (home === undefined || existsSync(home) || findPostmaster(data) !== undefined) continue;
    rmSync(data, { recursive: true, force: true });
  }
}
