/** Generated requests, valid and invalid: the document describes every response to them. */
import { execFile } from "node:child_process";
import { tmpdir } from "node:os";
import { promisify } from "node:util";
import { describe, expect } from "vitest";
import { findTool } from "../../../scripts/tools.js";
import { type Claims, sign, startServer, T, test } from "./support/server.ts";

/** Undefined where the tool is not available. A line of output says so, and these tests are skipped. */
const schemathesis = await findTool("schemathesis");
const run = promisify(execFile);

/** The number of requests to each operation. Raise it for a nightly run. */
const maxExamples = process.env["JOBFORGE_SCHEMATHESIS_EXAMPLES"] ?? "5";

/** All checks of the tool but one: a well-formed request may still be refused, such as for a time that has passed. */
const checks = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_headers_conformance",
  "response_schema_conformance",
  "negative_data_rejection",
  "unsupported_method",
  "allow_header_conformance",
  "ignored_auth",
];

/** Runs the tool and returns its findings. Empty if there are none. */
async function findings(url: string, claims: Claims, phases: string): Promise<string> {
  const args = [
    ...["run", `${url}/v1/openapi.json`, "--checks", checks.join(), "--exclude-path", "/v1/stream"],
    ...["--phases", phases, "--max-examples", maxExamples, "--seed", "1", "--generation-database", "none"],
    ...["--header", `Authorization: Bearer ${await sign(claims)}`, "--no-color", "--warnings", "off"],
  ];
  const env = { ...schemathesis?.env, PYTHONDONTWRITEBYTECODE: "1" };
  try {
    // The tool writes files to its working directory.
    const { stdout } = await run(schemathesis?.path ?? "", args, { env, cwd: tmpdir(), maxBuffer: 2 ** 26 });
    return /\d+ generated, \d+ passed/.test(stdout) ? "" : stdout;
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    return `${stdout}${stderr}` || String(error);
  }
}

describe.skipIf(schemathesis === undefined)("schemathesis", { timeout: 600_000 }, () => {
  test("finds no response to an operator that the document does not describe", async ({ db }) => {
    await using http = await startServer(db, { rateLimit: false });
    expect(await findings(http.url, { role: "jobforge_operator" }, "coverage,fuzzing")).toBe("");
    // Some requests have created jobs. Later ones may have deleted the tenant of all of them.
    expect(await db.value("select is_called from jobforge.queue_seq_seq")).toBe(true);
  });

  test("finds no response to a tenant that the document does not describe", async ({ db }) => {
    await using http = await startServer(db, { rateLimit: false });
    expect(await findings(http.url, { role: "jobforge_app", tenant_id: T }, "fuzzing")).toBe("");
    expect(await db.value("select count(*) > 0 from jobforge_jobs")).toBe(true);
  });
});
