/**
 * `npm test`: makes the checkout ready and checks everything: format, lint, prose, types, and all tests on a real
 * Postgres. The Python package is tested at the same time. Ends with one line `N passed, M failed`. On Postgres 15 it
 * skips the test files that take minutes, unless called with `--all`: those results can differ between versions only by
 * query plan, and plans are tested on both. What failed runs a second time: see suite.js.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { prepare } from "./prepare.js";
import { startPythonTests } from "./python.js";
import { runSuite, runTool } from "./suite.js";

/** The slow proofs of the kernel. Other tests run the same statements on PostgreSQL 15 as well. */
const proofs = "sql/test/proof/**";

const total = { passed: 0, failed: 0, skipped: 0 };
const failures = [];
const unstable = [];
const folder = mkdtempSync(join(tmpdir(), "jobforge-report-"));

prepare();
const python = startPythonTests(folder);
check("Lint and format", ["biome", "check", "."]);
check("Plain English", ["node", "scripts/check-prose.js"]);
check("Types", ["tsc", "--noEmit"]);
check("Types of the dashboard", ["tsc", "--noEmit", "-p", "packages/dashboard"]);
suite("Tests on PostgreSQL 18", { JOBFORGE_TEST_POSTGRES: "18" });
const all = process.argv.includes("--all");
suite(
  "Kernel tests on PostgreSQL 15",
  { JOBFORGE_TEST_POSTGRES: "15" },
  // Each of these tests has its own database and shares no module state, so files need not load their modules again.
  ["--no-isolate", ...(all ? [] : [`--exclude=${proofs}`])],
  ["sql/test", "attack/test/sql.test.ts"],
);
if (!all) console.log(`Skipped on PostgreSQL 15: ${proofs}. Run them with: npm test -- --all`);
add("Python", await python.finish());
rmSync(folder, { recursive: true, force: true });

for (const test of unstable) console.error(`⚠ Unstable: failed, and passed when it ran again: ${test}`);
for (const failure of failures) console.error(`✗ ${failure}`);
const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : "";
console.log(`${total.passed} passed, ${total.failed} failed${skipped}`);
process.exitCode = total.failed > 0 ? 1 : 0;

/** Runs a tool that counts as one passed or failed test. */
function check(title, [tool, ...args]) {
  console.log(`\n• ${title}`);
  if (runTool(tool, args).status === 0) total.passed++;
  else fail(title);
}

/** Runs a suite of vitest and counts each of its tests. */
function suite(title, env, options = [], filters = []) {
  console.log(`\n• ${title}`);
  add(title, runSuite(folder, title, env, options, filters));
}

/** Adds the result of many tests. Those that ran at the same time as others have their output with them. */
function add(title, { output, passed, skipped, failures: failed, unstable: doubtful = [] }) {
  if (output !== undefined) console.log(`\n• ${title}\n${output}`);
  total.passed += passed;
  total.skipped += skipped;
  unstable.push(...doubtful);
  for (const failure of failed) fail(failure);
}

/** Counts a failure and stores it, so that all failures are listed together at the end. */
function fail(what) {
  total.failed++;
  failures.push(what);
}
