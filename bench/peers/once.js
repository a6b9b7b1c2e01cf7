/**
 * What the installers of the contestants share: doing a thing once for the same sources, and running a tool so that its
 * failure says what to do. Plain JavaScript without dependencies: it runs before anything is installed.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";

/**
 * Calls `make` unless it has been done for files of the same content: the stamp holds their hash.
 * @param {string} stamp where the hash is kept
 * @param {readonly string[]} files what the result depends on
 * @param {() => void} make writes the folder that the stamp is in
 */
export function once(stamp, files, make) {
  const hash = createHash("sha256");
  for (const file of files) hash.update(readFileSync(file)).update("\0");
  const wanted = hash.digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  rmSync(stamp, { force: true });
  make();
  writeFileSync(stamp, wanted);
}

/**
 * Runs a tool to its end.
 * @param {string} what completes "…: REASON", such as "River cannot be built"
 * @param {string} command
 * @param {readonly string[]} args
 * @param {string} folder where it runs
 * @returns {string} its output
 */
export function runTool(what, command, args, folder) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd: folder, encoding: "utf8" });
  if (error !== undefined) {
    const missing = /** @type {NodeJS.ErrnoException} */ (error).code === "ENOENT";
    throw new Error(`${what}: ${missing ? `there is no ${command} on the PATH` : error.message}`);
  }
  // The last lines name the cause; the lines before them are progress.
  if (status !== 0) throw new Error(`${what}: ${lastLines(stderr || stdout)}`);
  return stdout.trim();
}

/** @param {string} text */
function lastLines(text) {
  return text.trim().split("\n").slice(-5).join("\n");
}
