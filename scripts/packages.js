/** The packages of this repository that are published. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./prepare.js";

/** The folder and the manifest of every package that is not private. */
export function publishedPackages() {
  const folders = ["sql", ...readdirSync(join(root, "packages")).map((name) => `packages/${name}`)];
  return folders
    .filter((folder) => existsSync(join(root, folder, "package.json")))
    .map((folder) => ({ folder, manifest: readManifest(folder) }))
    .filter(({ manifest }) => manifest.private !== true);
}

function readManifest(folder) {
  return JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
}
