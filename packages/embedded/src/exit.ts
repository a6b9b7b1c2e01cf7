/**
 * Guarantees three things:
 * - Registered cleanups run once when the process ends: by itself, by process.exit() or by an uncaught exception
 *   (all three emit "exit"), or by SIGINT, SIGTERM or SIGHUP.
 * - A signal still ends the process as it would have without the cleanups.
 * - An application with its own signal handler alone decides when to end.
 */

import { constants } from "node:os";

/** A cleanup must not wait for the event loop, which no longer runs at that point. */
type Cleanup = () => void;

const endingSignals: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP"];

interface Registry {
  readonly cleanups: Set<Cleanup>;
  stopListening?: (() => void) | undefined;
}

/**
 * The key of the one registry per process. Two loaded copies of this package share it, because each would otherwise
 * mistake the other's signal handler for the application's.
 */
const registryKey = Symbol.for("@jobforge/embedded.exit");

function registry(): Registry {
  const holder = globalThis as typeof globalThis & { [registryKey]?: Registry };
  holder[registryKey] ??= { cleanups: new Set() };
  return holder[registryKey];
}

/** Registers a cleanup to run when the process ends. Returns a function that removes it. */
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
    // The kernel ignores the signal for process 1 of a container, and without its server the process is useless.
    if (process.pid === 1) process.exit(128 + constants.signals[signal]);
  };
  process.on("exit", onExit);
  // Prepended, because an application's `once` handler that ran earlier would no longer be counted.
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
      // The process is ending: one failed cleanup must not prevent the others from running.
    }
  }
}

function applicationHandles(signal: NodeJS.Signals): boolean {
  return process.listenerCount(signal) > 1 + countSignalExit();
}

/**
 * Many tools load the package `signal-exit`. It also listens, and it ends the process only if there is no other
 * listener. Counting its listeners as the application's would leave a process that no signal ends.
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
