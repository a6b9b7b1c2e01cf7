/**
 * Guarantees that registered cleanups run once when the process ends by itself, by process.exit(), by an
 * uncaught exception (all of which emit "exit"), or by SIGINT, SIGTERM or SIGHUP; that a signal still ends the
 * process as it would have; and that an application with its own signal handler decides alone when to end.
 */

import { constants } from "node:os";

/** Must not wait for the event loop: nothing runs on it any more. */
type Cleanup = () => void;

const endingSignals: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP"];

interface Registry {
  readonly cleanups: Set<Cleanup>;
  stopListening?: (() => void) | undefined;
}

/** One per process, even when this package is loaded twice: two copies would take each other for the application. */
const registryKey = Symbol.for("@jobforge/embedded.exit");

function registry(): Registry {
  const holder = globalThis as typeof globalThis & { [registryKey]?: Registry };
  holder[registryKey] ??= { cleanups: new Set() };
  return holder[registryKey];
}

/** Runs a cleanup when the process ends. Returns how to forget it. */
export function atExit(cleanup: Cleanup): () => void {
  const shared = registry();
  shared.cleanups.add(cleanup);
  shared.stopListening ??= listen(shared);
  return () => {
    shared.cleanups.delete(cleanup);
    if (shared.cleanups.size === 0) forget(shared);
  };
}

function listen(shared: Registry): () => void {
  const onExit = (): void => runAll(shared);
  const onSignal = (signal: NodeJS.Signals): void => {
    if (applicationHandles(signal)) return;
    runAll(shared);
    forget(shared);
    process.kill(process.pid, signal);
    // As process 1 of a container the kernel ignores the signal, and without its server the process is no use.
    if (process.pid === 1) process.exit(128 + constants.signals[signal]);
  };
  process.on("exit", onExit);
  // First in line: an application's `once` handler that ran before would no longer be seen.
  for (const signal of endingSignals) process.prependListener(signal, onSignal);
  return () => {
    process.off("exit", onExit);
    for (const signal of endingSignals) process.off(signal, onSignal);
  };
}

function forget(shared: Registry): void {
  shared.stopListening?.();
  shared.stopListening = undefined;
}

function runAll({ cleanups }: Registry): void {
  for (const cleanup of cleanups) {
    cleanups.delete(cleanup);
    try {
      cleanup();
    } catch {
      // The process is ending: one failed cleanup must not keep the others from running.
    }
  }
}

function applicationHandles(signal: NodeJS.Signals): boolean {
  return process.listenerCount(signal) > 1 + countSignalExit();
}

/**
 * The package `signal-exit`, which many tools load, listens too and ends the process only when nobody else
 * does. Taking it for the application would leave a process that no signal ends.
 */
function countSignalExit(): number {
  const emitters: unknown[] = [
    Reflect.get(globalThis, Symbol.for("signal-exit emitter")),
    Reflect.get(process, "__signal_exit_emitter__"),
  ];
  let count = 0;
  for (const emitter of emitters) {
    const listeners: unknown = emitter instanceof Object ? Reflect.get(emitter, "count") : undefined;
    if (typeof listeners === "number") count += listeners;
  }
  return count;
}
