/** Builds the sources once per test file, so that child processes run the tested code without a build step. */

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "tsdown";
import { afterAll } from "vitest";

const packageRoot = join(import.meta.dirname, "..", "..");
export const driverPath: string = join(import.meta.dirname, "..", "fixtures", "driver.js");
export const claimantPath: string = join(import.meta.dirname, "..", "fixtures", "claimant.js");

let built: Promise<string> | undefined;

/** Returns the directory with `index.js` and `ownership.js`. It is in the package, so that its dependencies resolve. */
export function buildOnce(): Promise<string> {
  built ??= buildNow();
  return built;
}

async function buildNow(): Promise<string> {
  const cache = join(packageRoot, "node_modules", ".cache");
  mkdirSync(cache, { recursive: true });
  const outDir = mkdtempSync(join(cache, "test-"));
  await build({
    config: false,
    cwd: packageRoot,
    entry: ["src/index.ts", "src/ownership.ts"],
    outDir,
    format: "esm",
    platform: "node",
    fixedExtension: false,
    dts: false,
    clean: false,
    logLevel: "silent",
  });
  return outDir;
}

afterAll(async () => {
  if (built !== undefined) rmSync(await built, { recursive: true, force: true });
});
