/** Installs the peers, and the Node that runs every contender, once. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const peersFolder = fileURLToPath(new URL("../peers/", import.meta.url));

/** The path of the Node that all contenders run on. */
export function preparePeers(onProgress: (message: string) => void): string {
  const stamp = join(peersFolder, "node_modules/.installed");
  const wanted = readFileSync(join(peersFolder, "package.json"), "utf8");
  if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== wanted) {
    onProgress("installing the peers");
    const { status, stderr } = spawnSync("npm", ["install", "--no-audit", "--no-fund", "--no-package-lock"], {
      cwd: peersFolder,
      encoding: "utf8",
    });
    if (status !== 0) throw new Error(`The peers cannot be installed:\n${stderr}`);
    writeFileSync(stamp, wanted);
  }
  return join(peersFolder, "node_modules/.bin/node");
}
