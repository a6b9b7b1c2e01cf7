/** The parts of the process that a command uses. Tests pass their own. */
import { once } from "node:events";
import { onShellGone } from "./orphan.ts";

export interface OutputStream {
  /** Returns false if the writer should wait for the event `drain`. */
  write(text: string): unknown;
  once?(event: "drain", listener: () => void): unknown;
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

export interface CliProcess {
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /** Read for replies to questions only if it is a terminal. */
  readonly stdin?: (NodeJS.ReadableStream & { readonly isTTY?: boolean | undefined }) | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd?: (() => string) | undefined;
  /** The program and its arguments. Undefined if the command does not run in a process of its own. */
  readonly argv?: readonly string[] | undefined;
  /** Ends a command that otherwise runs until Ctrl-C. */
  readonly signal?: AbortSignal | undefined;
}

const endings = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Returns a signal that is aborted by Ctrl-C, SIGTERM, a closed terminal, the end of npm's shell, or the signal that a
 * test passed. Dispose of it to remove the signal handlers.
 */
export function interruption(cli: CliProcess): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  if (cli.signal?.aborted) abort();
  cli.signal?.addEventListener("abort", abort, { once: true });
  for (const name of endings) process.on(name, abort);
  const shell = onShellGone(cli.env, abort);
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => {
      cli.signal?.removeEventListener("abort", abort);
      for (const name of endings) process.off(name, abort);
      shell[Symbol.dispose]();
    },
  };
}

/** Resolves when the signal is aborted, and keeps the process alive until then. */
export async function untilAborted(signal: AbortSignal): Promise<void> {
  const alive = setInterval(() => undefined, 60_000);
  try {
    if (!signal.aborted) await once(signal, "abort");
  } finally {
    clearInterval(alive);
  }
}
