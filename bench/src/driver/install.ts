/** Installs the peers that npm has, and the Node that all contestants on Node run on, once. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const peersFolder = fileURLToPath(new URL("../../peers/", import.meta.url));

/** The path of that Node. Given somebody to report to, installs it first if need be; else undefined when it is not there. */
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
    if (status !== 0) throw new Error(`npm could not install the peers: ${lastWords(stderr)}`);
    writeFileSync(stamp, wanted);
  }
  return join(peersFolder, "node_modules/.bin/node");
}

function lastWords(log: string): string {
  const errors = log.split("\n").filter((line) => line.startsWith("npm error"));
  return (errors.length > 0 ? errors : [log.trim()]).slice(0, 3).join(" ");
}
