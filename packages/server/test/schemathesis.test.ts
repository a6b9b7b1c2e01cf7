/** Requests of every kind that the document allows, and of kinds that it does not: each answer is one that the document describes. */
import { execFile } from "node:child_process";
import { tmpdir } from "node:os";
import { promisify } from "node:util";
import { describe, expect } from "vitest";
import { findTool } from "../../../scripts/tools.js";
import { type Claims, sign, startServer, T, test } from "./support/server.ts";

/** Or undefined where it cannot be had: then these tests are skipped, and a line has said so. */
const schemathesis = await findTool("schemathesis");
const run = promisify(execFile);

/** More of them, for a night: each is a request to each of the operations. */
const EXAMPLES = process.env["JOBFORGE_SCHEMATHESIS_EXAMPLES"] ?? "5";

/** Every rule of its own but one: what is well-formed may still be refused, such as a time that has passed. */
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

/** Runs it, and answers what it found; empty when all is well. */
async function findings(url: string, claims: Claims, phases: string): Promise<string> {
  const args = [
    ...["run", `${url}/v1/openapi.json`, "--checks", checks.join(), "--exclude-path", "/v1/stream"],
    ...["--phases", phases, "--max-examples", EXAMPLES, "--seed", "1", "--generation-database", "none"],
    ...["--header", `Authorization: Bearer ${await sign(claims)}`, "--no-color", "--warnings", "off"],
  ];
  const env = { ...schemathesis?.env, PYTHONDONTWRITEBYTECODE: "1" };
  try {
    // It keeps notes where it is run.
    const { stdout } = await run(schemathesis?.path ?? "", args, { env, cwd: tmpdir(), maxBuffer: 2 ** 26 });
    return /\d+ generated, \d+ passed/.test(stdout) ? "" : stdout;
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    return `${stdout}${stderr}` || String(error);
  }
}

describe.skipIf(schemathesis === undefined)("schemathesis", { timeout: 180_000 }, () => {
  test("finds no answer to an operator that the document does not describe", async ({ db }) => {
    await using http = await startServer(db, { rateLimit: false });
    expect(await findings(http.url, { role: "jobforge_operator" }, "coverage,fuzzing")).toBe("");
    expect(await db.value("select count(*) > 0 from jobforge_jobs")).toBe(true);
  });

  test("nor one to a tenant", async ({ db }) => {
    await using http = await startServer(db, { rateLimit: false });
    expect(await findings(http.url, { role: "jobforge_app", tenant_id: T }, "fuzzing")).toBe("");
    expect(await db.value("select count(*) > 0 from jobforge_jobs")).toBe(true);
  });
});
