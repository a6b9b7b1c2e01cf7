import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { run } from "./support.ts";

let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "jobforge-demo-"));
});

afterAll(async () => {
  await rm(directory, { recursive: true, force: true });
});

const expected = [
  { type: "demo.greet", status: "succeeded", attempts: 1, error: null, result: { greeting: "Hello, Ada!" } },
  {
    type: "demo.greet",
    status: "succeeded",
    attempts: 1,
    error: null,
    result: { greeting: "Hello, Grace!" },
  },
  { type: "demo.flaky", status: "succeeded", attempts: 3, result: { attempts: 3 } },
  { type: "demo.broken", status: "dead", attempts: 3, error: "This address does not exist", result: null },
  { type: "demo.greet", status: "canceled", attempts: 0, error: null, result: null },
];

test("the demo shows each attempt, and what became of each job", async () => {
  const { exitCode, stdout, stderr } = await run(["demo", "--directory", directory]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(stdout).toMatch(/^• PostgreSQL is up on port \d+$/m);
  expect(stdout).toMatch(/^• Schema of JobForge \S+ installed$/m);
  expect(stdout).toContain("✓ demo.greet attempt 1");
  expect(stdout).toContain("✗ demo.flaky attempt 1: The upstream answered 503 (attempt 1) → queued");
  expect(stdout).toContain("✗ demo.broken attempt 3: This address does not exist → dead");
  const rows = stdout.slice(stdout.indexOf("\ntype ")).trim().split("\n");
  expect(rows.map((row) => row.trim().split(/ +/).slice(0, 3))).toEqual([
    ["type", "status", "attempts"],
    ...expected.map(({ type, status, attempts }) => [type, status, String(attempts)]),
  ]);
});

test("with --json it prints one document, also on the data of an earlier run", async () => {
  const { exitCode, stdout, stderr } = await run(["demo", "--json", "--directory", directory]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(JSON.parse(stdout)).toMatchObject({ jobs: expected });
});

test("it takes no other arguments", async () => {
  for (const args of [
    ["demo", "now"],
    ["demo", "--directory"],
    ["demo", "--fast"],
  ]) {
    expect(await run(args)).toMatchObject({ exitCode: 2, stdout: "" });
  }
  expect(await run(["demo", "--help"])).toMatchObject({ exitCode: 0, stderr: "" });
});
