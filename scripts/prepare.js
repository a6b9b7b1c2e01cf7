/**
 * Makes a checkout ready to run: installs the packages of the lock file and builds the workspaces. Skips each of the
 * two steps when nothing has changed since it last ran. Plain JavaScript without dependencies, because it runs before
 * anything is installed.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, sep } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../", import.meta.url));
const [major, minor] = process.versions.node.split(".").map(Number);

/** Installs and builds. Exits with a clear message if either step fails. */
export function prepare() {
  if (major < 20 || (major === 20 && minor < 19)) {
    fail(`JobForge needs Node 20.19 or newer; this is ${process.version}.`);
  }
  // Set by callers that know the checkout is ready and in use by other processes, such as tests.
  if (process.env.JOBFORGE_SKIP_PREPARE === "1") return;
  // Not `npm ci`: it rejects a lock file written with a registry that lacks another platform's optional binaries.
  const lock = digest([join(root, "package-lock.json")]);
  runIfChanged(
    "node_modules/.jobforge-installed",
    `${lock} ${process.platform} ${process.arch}`,
    "Installing packages",
    () =>
      run("npm", ["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]),
  );
  runIfChanged("node_modules/.jobforge-built", digest(sources()), "Building", () =>
    run("npm", ["run", "--silent", "build"]),
  );
}

/** Does the work unless the stamp file already holds this key, then writes the key to the stamp file. */
function runIfChanged(stamp, key, message, work) {
  const path = join(root, stamp);
  if (existsSync(path) && readFileSync(path, "utf8") === key) return;
  console.log(`• ${message} …`);
  const started = Date.now();
  work();
  writeFileSync(path, key);
  console.log(`  done in ${((Date.now() - started) / 1000).toFixed(1)} s`);
}

function run(command, args) {
  const shell = process.platform === "win32";
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: root, encoding: "utf8", shell });
  if (status !== 0) fail(`${command} ${args.join(" ")} failed:\n${stdout ?? ""}${stderr ?? ""}`);
}

function fail(message) {
  console.error(message);
  process.exit(1);
}

function sources() {
  const files = ["package-lock.json", "tsdown.config.ts", "tsconfig.json", "scripts/dashboard.js"].map(
    (name) => join(root, name),
  );
  for (const folder of ["sql/src", "packages"]) {
    for (const entry of readdirSync(join(root, folder), { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      if (
        entry.isFile() &&
        /\.(tsx?|json|js|css|html|svg)$/.test(path) &&
        !/[\\/](node_modules|dist|test)[\\/]/.test(path)
      )
        files.push(path);
    }
  }
  return files.sort();
}

function digest(files) {
  const hash = createHash("sha256");
  for (const file of files)
    hash.update(file.slice(root.length).split(sep).join("/")).update(readFileSync(file));
  return hash.digest("hex");
}
