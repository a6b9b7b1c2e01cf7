/**
 * Runs a command in a separate process and restarts it whenever a file changes, because loaded modules cannot be
 * reloaded. A process that ended by itself is started again at the next change.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { watch } from "node:fs";
import { resolve } from "node:path";
import { untilAborted } from "../process.ts";

export interface WatchOptions {
  /** Arguments of `jobforge`. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** The file or folder to watch. */
  readonly path: string;
  readonly signal: AbortSignal;
  readonly onRestart: (file: string) => void;
}

/** How long no file may change before the restart: an editor writes a file in several steps. */
const quietMs = 100;

/** Resolves when the signal is aborted and the process has ended. */
export async function runWatched(options: WatchOptions): Promise<void> {
  const { signal } = options;
  let child = start(options);
  let restarting: NodeJS.Timeout | undefined;
  let last: Promise<void> = Promise.resolve();
  const watcher = watch(resolve(options.cwd, options.path), { recursive: true }, (_, file) => {
    if (signal.aborted || isNoise(file)) return;
    clearTimeout(restarting);
    restarting = setTimeout(() => {
      last = last.then(async () => {
        await end(child);
        if (signal.aborted) return;
        options.onRestart(file ?? options.path);
        child = start(options);
      });
    }, quietMs);
  });
  try {
    await untilAborted(signal);
  } finally {
    watcher.close();
    clearTimeout(restarting);
    await last;
    await end(child);
  }
}

function isNoise(file: string | null): boolean {
  return file !== null && /(^|[\\/])(node_modules|\.[^\\/]*)([\\/]|$)|~$/.test(file);
}

function start({ args, env, cwd }: WatchOptions): ChildProcess {
  const program = process.argv[1] ?? "";
  return spawn(process.execPath, [...process.execArgv, program, ...args], {
    cwd,
    env,
    // The channel closes when this process ends, for any reason. See endWithParent.
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    // In its own process group: Ctrl-C in a terminal reaches only this process, which then signals the child once.
    detached: process.platform !== "win32",
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
}

/** For a process started by `runWatched`: ends this process, as by SIGTERM, when its parent is gone. */
export function endWithParent(): void {
  process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
  // The channel alone must not keep the process alive.
  process.channel?.unref();
}
