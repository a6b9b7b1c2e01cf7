/** Installs the peers that are on npm, and the Node that runs all contestants on Node. Does so only once. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const peersFolder = fileURLToPath(new URL("../../peers/", import.meta.url));

/**
 * Returns the path of that Node. With `onProgress`, installs it first if necessary. Without, returns undefined if it is
 * not installed.
 */
export function nodeForPeers(onProgress?: (message: string) => void): string | undefined {
  const stamp = join(peersFolder, "node_modules/.installed");
  const wanted = readFileSync(join(peersFolder, "package.json"), "utf8");
  if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== wanted) {
    if (onProgress === undefined) return undefined;
    onProgress("installing the peers");
    const { status, stderr } = spawnSync("npm", ["install", "--no-audit", "--no-fund", "--no-package-lock"], {
      cwd: peersFolder,
      encoding: "utf8",
    });
    if (status !== 0) throw new Error(`npm could not install the peers: ${errorsOf(stderr)}`);
    writeFileSync(stamp, wanted);
  }
  return join(peersFolder, "node_modules/.bin/node");
}

function errorsOf(log: string): string {
  const errors = log.split("\n").filter((line) => line.startsWith("npm error"));
  return (errors.length > 0 ? errors : [log.trim()]).slice(0, 3).join(" ");
}
