/** Runs the command in this process with simulated streams, and returns its output and exit code. */
import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { cloneDatabase, type TestDatabase } from "@jobforge/testing";
import { inject } from "vitest";
import { test as base } from "../../../test/database.ts";
import type { CliProcess } from "../src/process.ts";
import { runCli } from "../src/run.ts";

export const T = "11111111-1111-4111-8111-111111111111";
export const U = "22222222-2222-4222-8222-222222222222";

/** Tests with `db`, a migrated database, and `empty`, a database without JobForge. */
export const test = base.extend<{ empty: TestDatabase }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the fixtures a test needs from this pattern
  empty: async ({}, use) => {
    await using empty = await cloneDatabase({ ...inject("server"), template: "template0" });
    await use(empty);
  },
});

export interface CliRun {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  /** Simulates a terminal with this number of columns, in which these lines are typed. */
  readonly terminal?: { readonly columns?: number; readonly typed?: string };
  readonly piped?: string;
  readonly signal?: AbortSignal;
  readonly onOutput?: (text: string) => void;
}

/** A directory that does not exist. It has a name of its own, because `jobforge dev` makes a master key in it. */
const nowhere = join(tmpdir(), `jobforge-nowhere-${randomUUID()}`);

export async function run(
  args: readonly string[],
  env: CliProcess["env"] = {},
  options: RunOptions = {},
): Promise<CliRun> {
  const { terminal, piped, signal, onOutput } = options;
  const written = { stdout: "", stderr: "" };
  const stream = (name: keyof typeof written): CliProcess["stdout"] => ({
    isTTY: terminal !== undefined,
    columns: terminal === undefined ? undefined : (terminal.columns ?? 120),
    write: (text) => {
      written[name] += text;
      onOutput?.(text);
    },
  });
  const input = Readable.from([terminal?.typed ?? piped ?? ""]);
  const exitCode = await runCli(args, {
    stdout: stream("stdout"),
    stderr: stream("stderr"),
    stdin: Object.assign(input, { isTTY: terminal !== undefined }),
    env,
    cwd: () => nowhere,
    signal,
  });
  return { exitCode, ...written };
}

/** Runs a command with --json, checks its exit code, and returns the document that it printed. */
export async function json<T = Record<string, unknown>>(
  args: readonly string[],
  url: string,
  expectedExit = 0,
): Promise<T> {
  const { exitCode, stdout, stderr } = await run([...args, "--json"], { DATABASE_URL: url });
  if (exitCode !== expectedExit || stderr !== "")
    throw new Error(`jobforge ${args.join(" ")} ended with ${exitCode}: ${stderr}${stdout}`);
  return JSON.parse(stdout) as T;
}
