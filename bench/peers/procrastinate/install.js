/** Installs Procrastinate into an environment of its own, once, with the Python and the pip settings that there are. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { once, runTool } from "../once.js";

const folder = fileURLToPath(new URL(".", import.meta.url));
const environment = join(folder, ".venv");
const requirements = join(folder, "requirements.txt");

/**
 * @param {(message: string) => void} onProgress
 * @returns {{ command: string, args: string[] }} how a process of the contestant is started
 */
export function install(onProgress) {
  const needs = "Procrastinate's contestant needs Python 3.11 or newer";
  const version = runTool(needs, "python3", ["--version"], folder);
  const [, minor = "0"] = version.replace("Python ", "").split(".");
  if (Number(minor) < 11) throw new Error(`${needs}: this is ${version}`);
  const python = join(environment, "bin/python");
  once(join(environment, "installed"), [requirements], () => {
    onProgress(`installing Procrastinate with ${version}`);
    const failed = "Procrastinate cannot be installed";
    runTool(failed, "python3", ["-m", "venv", "--clear", environment], folder);
    // Without dependencies: what is not listed is not installed, so that the list stays whole.
    const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "-r"];
    runTool(failed, python, [...pip, requirements], folder);
  });
  return { command: python, args: ["-B", join(folder, "main.py")] };
}
