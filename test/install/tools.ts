/** Installs the programs of tools/package.json once per checkout: package managers, compilers, a bundler, Jest. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const wanted = join(import.meta.dirname, "tools");
const cache = join(import.meta.dirname, "../../.jobforge-tools");

/** For npm and pnpm: use what is in their caches, and run no scripts. */
export const quickInstall: readonly string[] = ["install", "--prefer-offline", "--ignore-scripts"];

/**
 * Returns the folder with the installed programs. Without a network, prints a warning and returns undefined. With
 * JOBFORGE_REQUIRE_TOOLS=1, as in CI, throws an error instead.
 */
export async function installTools(): Promise<string | undefined> {
  const lock = await readFile(join(wanted, "package-lock.json"));
  const hash = createHash("sha256").update(lock).digest("hex").slice(0, 12);
  const folder = join(cache, `install-${hash}-${process.platform}-${process.arch}`);
  if (existsSync(folder)) return folder;
  await mkdir(cache, { recursive: true });
  await writeFile(join(cache, ".gitignore"), "*\n");
  const work = await mkdtemp(join(cache, "install-"));
  try {
    await cp(wanted, work, { recursive: true });
    await run("npm", [...quickInstall, "--no-audit", "--no-fund"], { cwd: work });
    await rename(work, folder).catch((error: NodeJS.ErrnoException) => {
      // Another process was faster.
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    });
    return folder;
  } catch (error) {
    if (process.env["JOBFORGE_REQUIRE_TOOLS"] === "1") throw error;
    console.warn(
      `!! SKIPPED: tests that install the packages. npm cannot install the programs they need: ${error}`,
    );
    return undefined;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
