/** Real worker processes, with their log lines and their exit. */
import { type ChildProcess, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";
import type { WorkerOptions } from "../../src/index.ts";
import type { Line } from "./work.ts";

const root = join(import.meta.dirname, "..", "..", "..", "..");

export interface Child {
  readonly process: ChildProcess;
  /** The log lines so far, as JSON. */
  readonly lines: Line[];
  /** The output that is not JSON, and the standard error. */
  readonly noise: () => string;
  /** Resolves to the first line that fits, now or later. Rejects when the process ends without such a line. */
  logged(fits: (line: Line) => boolean): Promise<Line>;
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
}

/** Starts a worker process that handles the types of the fixture. */
export function startProcess(
  databaseUrl: string,
  options: Partial<Omit<WorkerOptions, "handlers">> = {},
  env: Record<string, string> = {},
): Child {
  return startFixture("worker.ts", [], {
    DATABASE_URL: databaseUrl,
    WORKER_OPTIONS: JSON.stringify(options),
    LOG_LEVEL: "debug",
    ...env,
  });
}

/** Runs a file in the folder `fixtures` with Node. */
export function startFixture(
  file: string,
  nodeArguments: readonly string[],
  env: Record<string, string>,
): Child {
  const { PATH } = process.env;
  const fixture = join(import.meta.dirname, "..", "fixtures", file);
  const child = spawn(process.execPath, [...nodeArguments, "--import", "tsx", fixture], {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH, ...env },
  });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  return listenTo(child);
}

function listenTo(child: ChildProcess): Child {
  const lines: Line[] = [];
  let noise = "";
  const news = new EventEmitter();
  news.setMaxListeners(100);
  child.stderr?.on("data", (chunk: Buffer) => {
    noise += chunk.toString("utf8");
  });
  let hasEnded = false;
  const ended = once(child, "close").then(([code, signal]) => {
    hasEnded = true;
    news.emit("heard");
    return { code, signal };
  });
  if (child.stdout !== null) {
    createInterface({ input: child.stdout }).on("line", (text) => {
      try {
        lines.push(JSON.parse(text));
      } catch {
        noise += `${text}\n`;
      }
      news.emit("heard");
    });
  }
  const logged = async (fits: (line: Line) => boolean): Promise<Line> => {
    for (;;) {
      const line = lines.find(fits);
      if (line !== undefined) return line;
      if (hasEnded)
        throw new Error(`The process ended without that line. It wrote:\n${JSON.stringify(lines)}\n${noise}`);
      await once(news, "heard");
    }
  };
  return { process: child, lines, noise: () => noise, logged, ended };
}
