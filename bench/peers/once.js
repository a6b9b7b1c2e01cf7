/**
 * Shared by the installers of the contestants: does a step once for the same sources, and runs a tool with a clear
 * message if it fails. Plain JavaScript without dependencies, because it runs before anything is installed.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";

/**
 * Calls `make`, unless the stamp file shows that it has already run for files with the same content.
 * @param {string} stamp the file that stores the hash of the content
 * @param {readonly string[]} files the files that the result depends on
 * @param {() => void} make creates the folder that contains the stamp
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
 * Runs a tool and waits for its exit.
 * @param {string} what the start of the error message, for example "River could not be built"
 * @param {string} command
 * @param {readonly string[]} args
 * @param {string} folder the working directory
 * @returns {string} the standard output of the tool
 */
export function runTool(what, command, args, folder) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd: folder, encoding: "utf8" });
  if (error !== undefined) {
    const missing = /** @type {NodeJS.ErrnoException} */ (error).code === "ENOENT";
    throw new Error(`${what}: ${missing ? `${command} is not on the PATH` : error.message}`);
  }
  // The last lines name the cause; the lines before them are progress.
  if (status !== 0) throw new Error(`${what}: ${lastLines(stderr || stdout)}`);
  return stdout.trim();
}

/** @param {string} text */
function lastLines(text) {
  return text.trim().split("\n").slice(-5).join("\n");
}
