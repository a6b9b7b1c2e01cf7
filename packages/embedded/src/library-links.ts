/**
 * Guarantees that the libraries have the link names that the programs look for. npm packages cannot contain links, so
 * the package creates them in an install script, which cautious package managers do not run.
 */

import { existsSync, lstatSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { systemCode } from "./errors.ts";

interface Link {
  readonly path: string;
  readonly to: string;
}

export function hasAllLinks(native: string): boolean {
  return wantedLinks(native).every(({ path }) => existsSync(path));
}

/** Creates the missing links. Throws EACCES, EPERM or EROFS if it may not write there. */
export function linkLibraries(native: string): void {
  for (const { path, to } of wantedLinks(native)) {
    if (existsSync(path)) continue;
    if (isLink(path)) rmSync(path, { force: true });
    try {
      symlinkSync(to, path);
    } catch (error) {
      // Another process is repairing the same package.
      if (systemCode(error) !== "EEXIST") throw error;
    }
  }
}

/** The list names both ends relative to the package. Its `native` directory may have been copied elsewhere. */
function wantedLinks(native: string): Link[] {
  const list = join(native, "pg-symlinks.json");
  if (!existsSync(list)) return [];
  const entries: unknown = JSON.parse(readFileSync(list, "utf8"));
  return Array.isArray(entries) ? entries.flatMap((entry) => linkOf(native, entry)) : [];
}

function linkOf(native: string, entry: unknown): Link[] {
  if (typeof entry !== "object" || entry === null || !("source" in entry) || !("target" in entry)) return [];
  const [source, path] = [inside(native, entry.source), inside(native, entry.target)];
  return source === undefined || path === undefined ? [] : [{ path, to: relative(dirname(path), source) }];
}

function inside(native: string, name: unknown): string | undefined {
  if (typeof name !== "string") return undefined;
  const path = resolve(native, name.replace(/^native\//, ""));
  return path.startsWith(native + sep) ? path : undefined;
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}
