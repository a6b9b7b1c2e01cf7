/** Installs Procrastinate into a virtual environment, with the installed Python and its pip settings. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { once, runTool } from "../once.js";

const folder = fileURLToPath(new URL(".", import.meta.url));
const environment = join(folder, ".venv");
const requirements = join(folder, "requirements.txt");

/**
 * @param {(message: string) => void} onProgress
 * @returns {{ command: string, args: string[] }} the command that starts a process of the contestant
 */
export function install(onProgress) {
  const needs = "Procrastinate's contestant needs Python 3.11 or newer";
  const version = runTool(needs, "python3", ["--version"], folder);
  const [, minor = "0"] = version.replace("Python ", "").split(".");
  if (Number(minor) < 11) throw new Error(`${needs}; found ${version}`);
  const python = join(environment, "bin/python");
  once(join(environment, "installed"), [requirements], () => {
    onProgress(`installing Procrastinate with ${version}`);
    const failed = "Procrastinate could not be installed";
    runTool(failed, "python3", ["-m", "venv", "--clear", environment], folder);
    // Without dependencies: only listed packages are installed, so a package that is missing in the list is noticed.
    const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "-r"];
    runTool(failed, python, [...pip, requirements], folder);
  });
  return { command: python, args: ["-B", join(folder, "main.py")] };
}
