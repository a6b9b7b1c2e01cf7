/**
 * Runs the checks and tests of the Python package while `npm test` does the rest. `python/scripts/test.py` does the
 * work, with Python 3.11 or newer and nothing else. Without Python, they are skipped with a warning; with
 * JOBFORGE_REQUIRE_TOOLS=1, as in CI, that is a failure. JOBFORGE_PYTHON names another Python.
 */
import { spawn, spawnSync } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./prepare.js";

const names = ["python3.13", "python3.12", "python3.11", "python3", "python"];

/**
 * Starts the tests. `finish()` waits for them and returns { output, passed, skipped, failures, unstable }. The output
 * goes to a file, because this process reads no pipes while another test runs.
 */
export function startPythonTests(folder) {
  const python = findPython();
  if (python === undefined) return { finish: async () => withoutPython() };
  const log = join(folder, "python.log");
  const report = join(folder, "python.json");
  const file = openSync(log, "w");
  const child = spawn(python, [join(root, "python/scripts/test.py"), "--report", report], {
    cwd: root,
    stdio: ["ignore", file, file],
  });
  closeSync(file);
  const ended = new Promise((resolve) => {
    child.on("error", resolve);
    child.on("close", resolve);
  });
  return {
    finish: async () => {
      await ended;
      const named = (names = []) => names.map((name) => `Python: ${name}`);
      const { failures, unstable, ...counts } = readReport(report);
      return {
        output: readFileSync(log, "utf8"),
        ...counts,
        failures: named(failures),
        unstable: named(unstable),
      };
    },
  };
}

/** The name of the first Python that is new enough. */
function findPython() {
  const { JOBFORGE_PYTHON: chosen } = process.env;
  const script = "import sys, venv; sys.exit(0 if sys.version_info >= (3, 11) else 1)";
  return (chosen === undefined ? names : [chosen]).find(
    (name) => spawnSync(name, ["-c", script], { stdio: "ignore" }).status === 0,
  );
}

function withoutPython() {
  const message = "The Python package was not tested: Python 3.11 or newer with venv was not found.";
  const required = process.env.JOBFORGE_REQUIRE_TOOLS === "1";
  return {
    output: `⚠ ${message}\n`,
    passed: 0,
    skipped: required ? 0 : 1,
    failures: required ? [message] : [],
  };
}

/** A run that breaks before it writes its report counts as one failure. */
function readReport(report) {
  try {
    return JSON.parse(readFileSync(report, "utf8"));
  } catch {
    return { passed: 0, skipped: 0, failures: ["The Python tests wrote no report"] };
  }
}
