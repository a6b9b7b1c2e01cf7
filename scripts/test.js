/**
 * `npm test`: makes the checkout ready and checks everything: format, lint, prose, types, and all tests on a real
 * Postgres. The Python package is tested at the same time. Ends with one line `N passed, M failed`. On Postgres 15 it
 * skips the test files that take minutes, unless called with `--all`: those results can differ between versions only by
 * query plan, and plans are tested on both.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { prepare, root } from "./prepare.js";
import { startPythonTests } from "./python.js";

/** The slow proofs of the kernel. Other tests run the same statements on PostgreSQL 15 as well. */
const proofs = "sql/test/proof/**";

const total = { passed: 0, failed: 0, skipped: 0 };
const failures = [];
const folder = mkdtempSync(join(tmpdir(), "jobforge-report-"));

prepare();
const python = startPythonTests(folder);
check("Lint and format", ["biome", "check", "."]);
check("Plain English", ["node", "scripts/check-prose.js"]);
check("Types", ["tsc", "--noEmit"]);
check("Types of the dashboard", ["tsc", "--noEmit", "-p", "packages/dashboard"]);
suite("Tests on PostgreSQL 18", { JOBFORGE_TEST_POSTGRES: "18" });
const all = process.argv.includes("--all");
suite("Kernel tests on PostgreSQL 15", { JOBFORGE_TEST_POSTGRES: "15" }, [
  "sql/test",
  "attack/test/sql.test.ts",
  // Each of these tests has its own database and shares no module state, so files need not load their modules again.
  "--no-isolate",
  ...(all ? [] : [`--exclude=${proofs}`]),
]);
if (!all) console.log(`Skipped on PostgreSQL 15: ${proofs}. Run them with: npm test -- --all`);
add("Python", await python.finish());
rmSync(folder, { recursive: true, force: true });

for (const failure of failures) console.error(`✗ ${failure}`);
const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : "";
console.log(`${total.passed} passed, ${total.failed} failed${skipped}`);
process.exitCode = total.failed > 0 ? 1 : 0;

/** Runs a tool that counts as one passed or failed test. */
function check(title, [tool, ...args]) {
  console.log(`\n• ${title}`);
  const { status } = run(tool, args);
  if (status === 0) total.passed++;
  else fail(title);
}

/** Runs vitest and counts each test. A run that breaks before it writes its report counts as one failure. */
function suite(title, env, options = []) {
  console.log(`\n• ${title}`);
  const report = join(folder, `${title.replaceAll(/\W+/g, "-")}.json`);
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const { status } = run("vitest", ["run", ...reporters, ...options], env);
  let counted = { numPassedTests: 0, numFailedTests: 0, numPendingTests: 0, testResults: [] };
  try {
    counted = JSON.parse(readFileSync(report, "utf8"));
  } catch {
    console.error(`${title}: vitest wrote no report`);
  }
  total.passed += counted.numPassedTests;
  total.skipped += counted.numPendingTests;
  for (const { name, assertionResults } of counted.testResults) {
    for (const { status: outcome, fullName, failureMessages } of assertionResults) {
      if (outcome === "failed") fail(`${title}: ${relative(root, name)}: ${fullName}\n${failureMessages[0]}`);
    }
  }
  if (status !== 0 && counted.numFailedTests === 0) fail(title);
}

/** Adds the result of tests that ran at the same time. */
function add(title, { output, passed, skipped, failures: failed }) {
  console.log(`\n• ${title}\n${output}`);
  total.passed += passed;
  total.skipped += skipped;
  for (const failure of failed) fail(`${title}: ${failure}`);
}

/** Counts a failure and stores it, so that all failures are listed together at the end. */
function fail(what) {
  total.failed++;
  failures.push(what);
}

function run(tool, args, env = {}) {
  const options = { cwd: root, stdio: "inherit", env: { ...process.env, ...env } };
  if (tool === "node") return spawnSync(process.execPath, args, options);
  const isWindows = process.platform === "win32";
  const bin = join(root, "node_modules/.bin", isWindows ? `${tool}.cmd` : tool);
  return spawnSync(bin, args, { ...options, shell: isWindows });
}
