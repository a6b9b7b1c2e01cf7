/** Installs the queues in Python into one virtual environment, with the newest Python that is installed. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { once, runTool } from "../once.js";

const folder = fileURLToPath(new URL(".", import.meta.url));
const repository = join(folder, "../../..");
const environment = join(folder, ".venv");
const requirements = join(folder, "requirements.txt");
const server = join(repository, "bench/src/contestants/http-server.ts");

/**
 * @param {string} name the module of the queue, without `_queue`, and the way, as in `jobforge-over-http`
 * @param {(message: string) => void} onProgress
 * @returns {{ command: string, args: string[], env: Record<string, string> }} how to start a process of the contestant
 */
export function install(name, onProgress) {
  const { path, version } = newestPython();
  const python = join(environment, "bin/python");
  once(join(environment, "installed"), [requirements, join(repository, "python/pyproject.toml")], () => {
    onProgress(`installing the queues in Python ${version}`);
    const failed = "The queues in Python could not be installed";
    runTool(failed, path, ["-m", "venv", "--clear", environment], folder);
    // Without dependencies: only listed packages are installed, so a package that is missing in the list is noticed.
    const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    runTool(failed, python, [...pip, "--no-deps", "-r", requirements], folder);
    runTool(
      failed,
      python,
      [...pip, "--no-deps", "--no-build-isolation", "-e", join(repository, "python")],
      folder,
    );
  });
  const env = { JOBFORGE_SERVER_COMMAND: JSON.stringify([process.execPath, "--import", "tsx", server]) };
  return { command: python, args: ["-B", join(folder, "main.py"), name], env };
}

/** Oban needs Python 3.12. All queues in Python use the same one. */
function newestPython() {
  const needs = "The queues in Python need Python 3.12 or newer";
  const names = ["python3.14", "python3.13", "python3.12", "python3", ...pyenv()];
  for (const path of names) {
    const { status, stdout } = spawnSync(path, ["--version"], { encoding: "utf8" });
    const [, minor = "0"] = (stdout ?? "").replace("Python ", "").split(".");
    if (status === 0 && Number(minor) >= 12) return { path, version: stdout.trim() };
  }
  throw new Error(`${needs}: python3.12 is not on the PATH`);
}

/** The versions of pyenv that are installed and not chosen, so not on the PATH. */
function pyenv() {
  const root = spawnSync("pyenv", ["root"], { encoding: "utf8" });
  const versions = spawnSync("pyenv", ["versions", "--bare"], { encoding: "utf8" });
  if (root.status !== 0 || versions.status !== 0) return [];
  const newestFirst = versions.stdout.trim().split("\n").toReversed();
  return newestFirst.map((version) => join(root.stdout.trim(), "versions", version.trim(), "bin/python"));
}
