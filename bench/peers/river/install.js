/** Builds River's contestant with the installed Go. The configuration of that Go decides where modules come from. */
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { once, runTool } from "../once.js";

const folder = fileURLToPath(new URL(".", import.meta.url));
const built = join(folder, ".build");

/**
 * @param {(message: string) => void} onProgress
 * @returns {{ command: string, args: string[] }} the command that starts a process of the contestant
 */
export function install(onProgress) {
  const version = runTool("River's contestant needs Go 1.26 or newer", "go", ["env", "GOVERSION"], folder);
  const sources = readdirSync(folder).filter((file) => /\.(go|mod|sum)$/.test(file));
  once(
    join(built, "installed"),
    sources.toSorted().map((file) => join(folder, file)),
    () => {
      onProgress(`building River with ${version}`);
      mkdirSync(built, { recursive: true });
      runTool("River could not be built", "go", ["build", "-o", join(built, "river"), "."], folder);
    },
  );
  return { command: join(built, "river"), args: [] };
}
