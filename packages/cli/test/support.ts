/** The command with a process of its own: what it wrote, and how it ended. */
import { type CliProcess, runCli } from "../src/index.ts";

export interface CliRun {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export async function run(args: readonly string[], env: CliProcess["env"] = {}): Promise<CliRun> {
  let stdout = "";
  let stderr = "";
  const exitCode = await runCli(args, {
    stdout: {
      write: (text) => {
        stdout += text;
      },
    },
    stderr: {
      write: (text) => {
        stderr += text;
      },
    },
    env,
  });
  return { exitCode, stdout, stderr };
}
