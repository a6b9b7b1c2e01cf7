/**
 * `npm run tarballs FOLDER`: makes the checkout ready, then packs every published package into the folder. It is not
 * `npm pack --workspaces`, which also packs private packages, and packs whatever an earlier build has left.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { publishedPackages } from "./packages.js";
import { prepare, root } from "./prepare.js";

const [folder, ...more] = process.argv.slice(2);
if (folder === undefined || more.length > 0) {
  console.error("Usage: npm run tarballs FOLDER\nFor example: npm run tarballs ../jobforge-packages");
  process.exit(2);
}

prepare();
// npm changes to the root of the repository. The folder is relative to where the command was typed.
const destination = resolve(process.env.INIT_CWD ?? process.cwd(), folder);
mkdirSync(destination, { recursive: true });
const workspaces = publishedPackages().map((one) => `--workspace=${one.folder}`);
const options = ["--json", "--ignore-scripts", `--pack-destination=${destination}`];
const shell = process.platform === "win32";
const packed = spawnSync("npm", ["pack", ...options, ...workspaces], {
  cwd: root,
  encoding: "utf8",
  shell,
  maxBuffer: 2 ** 26,
});
if (packed.status !== 0) {
  console.error(`npm pack failed:\n${packed.stderr}`);
  process.exit(1);
}
for (const { filename } of JSON.parse(packed.stdout)) console.log(join(folder, filename));
