/**
 * Runs a command in a separate process and restarts it whenever a file changes, because loaded modules cannot be
 * reloaded. A process that ended by itself is started again after a while. If it could not load the handlers, only a
 * change helps, so it is started again at the next change.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { span } from "../output/values.ts";
import { untilAborted } from "../process.ts";
import { dependenciesIn, isNoise, watchFiles } from "./files.ts";
import { typeScriptFlag } from "./typescript.ts";

export interface WatchOptions {
  /** Arguments of `jobforge`. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** The file or folder to watch. Files that the process imports from elsewhere are watched as well. */
  readonly path: string;
  readonly signal: AbortSignal;
  readonly onRestart: (file: string) => void;
  /** The process has ended by itself, although nothing has changed. */
  readonly onEnd: (end: UnexpectedEnd) => void;
}

export interface UnexpectedEnd {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** When it is started again. Undefined: when a file changes. */
  readonly restartInMs: number | undefined;
}

/** Says what has happened, and what happens next. */
export function describeEnd({ exitCode, signal, restartInMs }: UnexpectedEnd): string {
  const how = exitCode === null ? `signal ${signal}` : `exit code ${exitCode}`;
  const when =
    restartInMs === undefined ? "when a file changes" : `in ${span(restartInMs)}, or when a file changes`;
  return `The worker has ended (${how}). It starts again ${when}`;
}

/** How long no file may change before the restart: an editor writes a file in several steps. */
const quietMs = 100;
/** The delay after the first unexpected end. It doubles with each further one. */
const firstDelayMs = 1000;
/** The longest delay. A process that ran for longer counts as repaired: the next delay is the first one again. */
const longestDelayMs = 30_000;

/** Resolves when the signal is aborted and the process has ended. */
export async function runWatched(options: WatchOptions): Promise<void> {
  const { signal } = options;
  let changed: NodeJS.Timeout | undefined;
  let delayed: NodeJS.Timeout | undefined;
  let delayMs = firstDelayMs;
  let last: Promise<void> = Promise.resolve();
  const restart = (sayWhy: () => void): void => {
    last = last.then(async () => {
      await end(child);
      if (signal.aborted) return;
      sayWhy();
      child = begin();
    });
  };
  const files = watchFiles(options.path, options.cwd, (file) => {
    if (signal.aborted || isNoise(file)) return;
    clearTimeout(changed);
    clearTimeout(delayed);
    changed = setTimeout(() => {
      changed = undefined;
      delayMs = firstDelayMs;
      restart(() => options.onRestart(file));
    }, quietMs);
  });
  const begin = (): Watched => {
    const startedAt = performance.now();
    const watched = start(options, files.add);
    watched.process.once("exit", (exitCode, endSignal) => {
      // A restart for a change is about to happen, or has ended the process.
      if (signal.aborted || watched.isEnding || changed !== undefined) return;
      if (performance.now() - startedAt > longestDelayMs) delayMs = firstDelayMs;
      const restartInMs = watched.hasLoaded ? delayMs : undefined;
      options.onEnd({ exitCode, signal: endSignal, restartInMs });
      if (restartInMs === undefined) return;
      delayMs = Math.min(longestDelayMs, delayMs * 2);
      delayed = setTimeout(() => restart(() => undefined), restartInMs);
    });
    return watched;
  };
  let child = begin();
  try {
    await untilAborted(signal);
  } finally {
    files.close();
    clearTimeout(changed);
    clearTimeout(delayed);
    await last;
    await end(child);
  }
}

/** A process, and what is known about it. */
interface Watched {
  readonly process: ChildProcess;
  hasLoaded: boolean;
  isEnding: boolean;
}

function start({ args, env, cwd }: WatchOptions, onDependency: (file: string) => void): Watched {
  const program = process.argv[1] ?? "";
  const flag = typeScriptFlag(process.versions.node);
  const nodeOptions = flag === undefined ? process.execArgv : [...process.execArgv, flag];
  const child = spawn(process.execPath, [...nodeOptions, program, ...args], {
    cwd,
    // Node reports every module that it loads to a parent with this variable, as it does for `node --watch`. A version
    // that does not would only miss changes outside of the handlers' folder.
    env: { ...env, WATCH_REPORT_DEPENDENCIES: "1", [watchedVariable]: "1" },
    // The channel closes when this process ends, for any reason. See endWithParent.
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    // In its own process group: Ctrl-C in a terminal reaches only this process, which then signals the child once.
    detached: process.platform !== "win32",
  });
  const watched: Watched = { process: child, hasLoaded: false, isEnding: false };
  let isLoading = false;
  child.on("message", (message) => {
    if (message === handlersLoaded) watched.hasLoaded = true;
    if (message === loadingHandlers) isLoading = true;
    // The modules before are those of the command itself.
    if (isLoading) for (const file of dependenciesIn(message)) onDependency(file);
  });
  return watched;
}

async function end(watched: Watched): Promise<void> {
  const { process: child } = watched;
  watched.isEnding = true;
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
}

/** Set in a process that `runWatched` started. */
const watchedVariable = "JOBFORGE_WATCHED";
const loadingHandlers = "jobforge: loading handlers";
const handlersLoaded = "jobforge: handlers loaded";

/**
 * For a process started by `runWatched`: tells its parent which modules are loaded for the handlers, and when all of
 * them are loaded.
 */
export async function watchedLoad<T>(load: () => Promise<T>): Promise<T> {
  if (process.env[watchedVariable] !== "1") return await load();
  process.send?.(loadingHandlers);
  try {
    const loaded = await load();
    process.send?.(handlersLoaded);
    return loaded;
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
