/**
 * Runs a command in a separate process and restarts it whenever a file changes, because loaded modules cannot be
 * reloaded. A process that ended by itself is started again at the next change.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { untilAborted } from "../process.ts";
import { dependenciesIn, isNoise, watchFiles } from "./files.ts";

export interface WatchOptions {
  /** Arguments of `jobforge`. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** The file or folder to watch. Files that the process imports from elsewhere are watched as well. */
  readonly path: string;
  readonly signal: AbortSignal;
  readonly onRestart: (file: string) => void;
}

/** How long no file may change before the restart: an editor writes a file in several steps. */
const quietMs = 100;

/** Resolves when the signal is aborted and the process has ended. */
export async function runWatched(options: WatchOptions): Promise<void> {
  const { signal } = options;
  let restarting: NodeJS.Timeout | undefined;
  let last: Promise<void> = Promise.resolve();
  const files = watchFiles(options.path, options.cwd, (file) => {
    if (signal.aborted || isNoise(file)) return;
    clearTimeout(restarting);
    restarting = setTimeout(() => {
      last = last.then(async () => {
        await end(child);
        if (signal.aborted) return;
        options.onRestart(file);
        child = start(options, files.add);
      });
    }, quietMs);
  });
  let child = start(options, files.add);
  try {
    await untilAborted(signal);
  } finally {
    files.close();
    clearTimeout(restarting);
    await last;
    await end(child);
  }
}

function start({ args, env, cwd }: WatchOptions, onDependency: (file: string) => void): ChildProcess {
  const program = process.argv[1] ?? "";
  const child = spawn(process.execPath, [...process.execArgv, program, ...args], {
    cwd,
    // Node reports every module that it loads to a parent with this variable, as it does for `node --watch`.
    env: { ...env, WATCH_REPORT_DEPENDENCIES: "1", [watchedVariable]: "1" },
    // The channel closes when this process ends, for any reason. See endWithParent.
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    // In its own process group: Ctrl-C in a terminal reaches only this process, which then signals the child once.
    detached: process.platform !== "win32",
  });
  let isLoading = false;
  child.on("message", (message) => {
    if (message === loadingHandlers) isLoading = true;
    // The modules before are those of the command itself.
    if (isLoading) for (const file of dependenciesIn(message)) onDependency(file);
  });
  return child;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
}

/** Set in a process that `runWatched` started. */
const watchedVariable = "JOBFORGE_WATCHED";
const loadingHandlers = "jobforge: loading handlers";

/** For a process started by `runWatched`: tells its parent which modules are loaded for the handlers. */
export async function watchedLoad<T>(load: () => Promise<T>): Promise<T> {
  if (process.env[watchedVariable] !== "1") return await load();
  process.send?.(loadingHandlers);
  try {
    return await load();
  } finally {
    // Node does not report a CommonJS module that another one exports again.
    process.send?.({ "watch:require": Object.keys(createRequire(import.meta.url).cache) });
  }
}

/** For a process started by `runWatched`: ends this process, as by SIGTERM, when its parent is gone. */
export function endWithParent(): void {
  process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
  // The channel alone must not keep the process alive.
  process.channel?.unref();
}
