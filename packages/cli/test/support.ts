/** The command with a process of its own: what it wrote, and how it ended. */
import { Readable } from "node:stream";
import { type CliProcess, runCli } from "../src/index.ts";

export interface CliRun {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  /** As in a terminal of so many columns, where somebody types these lines. */
  readonly terminal?: { readonly columns?: number; readonly typed?: string };
  readonly piped?: string;
  readonly signal?: AbortSignal;
  readonly onOutput?: (text: string) => void;
}

/** A directory without a database of its own. */
const nowhere = "/nonexistent";

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

/** Runs a command that must do well, and reads the one document that it printed. */
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
