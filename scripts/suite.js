/**
 * Runs a suite of vitest, and looks a second time at what failed. A run of everything keeps each core busy, and a test
 * may meet a limit there that it does not meet alone. So a few files that failed run again, one after the other. What
 * fails twice is a failure. What passes then counts as passed, and is listed as unstable, so that it gets repaired.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { root } from "./prepare.js";

/** More files than this do not fail by chance. */
const mostLooks = 4;

/**
 * Returns { passed, skipped, failures, unstable }, where the last two are lists of texts.
 * @param {string} folder where reports are written
 */
export function runSuite(folder, title, env, options, filters) {
  const report = (look) => join(folder, `${title.replaceAll(/\W+/g, "-")}-${look}.json`);
  const first = look(report(1), env, options, filters);
  if (first.files === undefined) return result([], [`${title}: vitest wrote no report`]);
  const failed = [...first.files.values()].filter(hasFailed);
  const broken = first.status !== 0 && failed.length === 0 ? [title] : [];
  if (failed.length === 0 || failed.length > mostLooks)
    return result([...first.files.values()], [...broken, ...textsOf(title, failed)]);
  console.log(`\n• ${title}: a second look at what failed`);
  const names = failed.map(({ name }) => name);
  const second = look(report(2), env, [...options, "--no-file-parallelism"], names).files ?? new Map();
  const last = failed.map((file) => second.get(file.name) ?? file);
  const files = [...first.files.values()].filter((file) => !hasFailed(file)).concat(last);
  const failures = textsOf(title, last.filter(hasFailed));
  const isUnstable = (file) => !hasFailed(second.get(file.name) ?? file);
  return result(files, failures, textsOf(title, failed.filter(isUnstable)));
}

/** Runs vitest once. Returns its status and what its report says of each file. */
function look(report, env, options, filters) {
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const { status } = runTool("vitest", ["run", ...reporters, ...options, ...filters], env);
  try {
    const { testResults } = JSON.parse(readFileSync(report, "utf8"));
    return { status, files: new Map(testResults.map((file) => [file.name, file])) };
  } catch {
    return { status, files: undefined };
  }
}

function hasFailed({ status, assertionResults }) {
  return status === "failed" || assertionResults.some((test) => test.status === "failed");
}

/** What failed in some files: each test, or the file itself when none of its tests ran. */
function textsOf(title, files) {
  return files.flatMap(({ name, message, assertionResults }) => {
    const failed = assertionResults.filter(({ status }) => status === "failed");
    const file = `${title}: ${relative(root, name)}`;
    if (failed.length === 0) return [`${file}\n${message}`];
    return failed.map(({ fullName, failureMessages }) => `${file}: ${fullName}\n${failureMessages[0]}`);
  });
}

function result(files, failures, unstable = []) {
  const tests = files.flatMap(({ assertionResults }) => assertionResults);
  const passed = tests.filter(({ status }) => status === "passed").length;
  const failed = tests.filter(({ status }) => status === "failed").length;
  return { passed, skipped: tests.length - passed - failed, failures, unstable };
}

/** Runs a tool of node_modules, or node itself, with this terminal. */
export function runTool(tool, args, env = {}) {
  const options = { cwd: root, stdio: "inherit", env: { ...process.env, ...env } };
  if (tool === "node") return spawnSync(process.execPath, args, options);
  const isWindows = process.platform === "win32";
  const bin = join(root, "node_modules/.bin", isWindows ? `${tool}.cmd` : tool);
  return spawnSync(bin, args, { ...options, shell: isWindows });
}
