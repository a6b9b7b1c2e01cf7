/** Runs the built command in a separate process, as users do. */
import { type ChildProcess, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { repository } from "./files.ts";

export interface Child {
  readonly process: ChildProcess;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Resolves when standard output contains the text. Rejects if the process ends without it. */
  printed(text: string | RegExp): Promise<void>;
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
}

export interface StartOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

export function startJobforge(args: readonly string[], options: StartOptions): Child {
  return startNode(join(repository, "packages/cli/bin/jobforge.js"), args, options);
}

export function startNode(program: string, args: readonly string[], { cwd, env = {} }: StartOptions): Child {
  const { PATH } = process.env;
  const child = spawn(process.execPath, [program, ...args], {
    cwd,
    env: { PATH, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  // SIGTERM, so that the processes it has started end as well.
  onTestFinished(() => void child.kill("SIGTERM"));
  return listenTo(child);
}

function listenTo(child: ChildProcess): Child {
  const written = { stdout: "", stderr: "" };
  const news = new EventEmitter();
  let isOver = false;
  for (const name of ["stdout", "stderr"] as const) {
    child[name]?.on("data", (chunk: Buffer) => {
      written[name] += chunk.toString("utf8");
      news.emit("heard");
    });
  }
  const ended = once(child, "close").then(([code, signal]) => {
    isOver = true;
    news.emit("heard");
    return { code, signal };
  });
  const printed = async (text: string | RegExp): Promise<void> => {
    for (;;) {
      if (typeof text === "string" ? written.stdout.includes(text) : text.test(written.stdout)) return;
      if (isOver)
        throw new Error(`It ended without ${text}. Its output:\n${written.stdout}\n${written.stderr}`);
      await once(news, "heard");
    }
  };
  return { process: child, stdout: () => written.stdout, stderr: () => written.stderr, printed, ended };
}
