/**
 * Guarantees the directory that holds one server's state, and names the files in it. Password and log are private,
 * none of the files can be committed by accident, and a PostgreSQL that this package did not create is left alone.
 */

import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, realpathSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { PostgresVersion } from "./binaries.ts";
import { EmbeddedPostgresError, systemCode } from "./errors.ts";
import { readIfThere, replaceFile } from "./files.ts";
import { isRoot } from "./server-user.ts";

export const pointerFile = "data-location.json";

export interface Home {
  /** The directory the caller chose. */
  readonly directory: string;
  /** A subdirectory of it, one per major version, so that both versions can be used. */
  readonly path: string;
  readonly version: PostgresVersion;
  readonly logFile: string;
  readonly passwordFile: string;
  readonly portFile: string;
  /** Names the location of the data if it could not be stored here. */
  readonly dataPointer: string;
}

export function homeOf(directory: string | undefined, version: PostgresVersion): Home {
  const root = resolve(directory ?? ".jobforge");
  const path = realOrSame(join(root, `postgres-${version}`));
  return {
    directory: realOrSame(root),
    path,
    version,
    logFile: join(path, "server.log"),
    passwordFile: join(path, "password"),
    portFile: join(path, "port"),
    dataPointer: join(path, pointerFile),
  };
}

export function openHome(directory: string | undefined, version: PostgresVersion): Home {
  const { directory: root, path } = homeOf(directory, version);
  if (existsSync(join(root, "PG_VERSION"))) {
    throw new EmbeddedPostgresError(
      "foreign_data",
      `${root} is the data directory of a PostgreSQL that JobForge did not create.`,
      "Choose another directory. This one has not been changed.",
    );
  }
  try {
    if (!existsSync(root)) {
      mkdirOpen(root);
      writeFileSync(join(root, ".gitignore"), "*\n");
    }
    if (!existsSync(path)) {
      mkdirSync(path);
      // As root, the server's user must be able to pass through. Private files in it have their own modes.
      chmodSync(path, isRoot() ? 0o755 : 0o700);
    }
  } catch (error) {
    throw unreadable(path, error);
  }
  return homeOf(directory, version);
}

/** Returns the password of existing data. */
export function readPassword(home: Home): string {
  try {
    const text = readIfThere(home.passwordFile)?.trim();
    if (text) return text;
    statSync(home.passwordFile);
  } catch (error) {
    if (systemCode(error) !== "ENOENT") throw unreadable(home.passwordFile, error);
  }
  throw new EmbeddedPostgresError(
    "password_missing",
    `The data exists, but its password is not in ${home.passwordFile}.`,
    `Restore that file, or remove ${home.path} to start again without the data.`,
  );
}

export function writeNewPassword(home: Home): string {
  const password = randomBytes(24).toString("base64url");
  replaceFile(home.passwordFile, `${password}\n`, { mode: 0o600 });
  return password;
}

export function rememberedPort(home: Home): number | undefined {
  const port = Number(readIfThere(home.portFile));
  return Number.isInteger(port) && port > 0 && port < 65536 ? port : undefined;
}

export function rememberPort(home: Home, port: number): void {
  if (rememberedPort(home) !== port) replaceFile(home.portFile, `${port}\n`, { mode: 0o644 });
}

export function unreadable(path: string, cause: unknown): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    "unreadable",
    `Cannot use ${path}: ${cause instanceof Error ? cause.message : String(cause)}`,
    "Run as the user who created it, or choose another directory.",
    { cause },
  );
}

/** A strict umask must not lock out the server's user. Only directories that are created here become accessible. */
function mkdirOpen(path: string): void {
  const first = mkdirSync(path, { recursive: true });
  if (first === undefined || !isRoot()) return;
  for (let created = path; created.startsWith(first); created = dirname(created)) chmodSync(created, 0o755);
}

function realOrSame(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}
