/** What a command needs of its process; tests pass their own. */

export interface OutputStream {
  write(text: string): unknown;
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

export interface CliProcess {
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /** Asked for answers only when it is a terminal. */
  readonly stdin?: (NodeJS.ReadableStream & { readonly isTTY?: boolean | undefined }) | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd?: (() => string) | undefined;
  /** Ends what would go on until Ctrl-C. */
  readonly signal?: AbortSignal | undefined;
}

/** Aborted by Ctrl-C, by SIGTERM, and by the signal that a test passed. Dispose of it to give the signals back. */
export function interruption(cli: CliProcess): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  if (cli.signal?.aborted) abort();
  cli.signal?.addEventListener("abort", abort, { once: true });
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, abort);
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => {
      cli.signal?.removeEventListener("abort", abort);
      for (const name of ["SIGINT", "SIGTERM"] as const) process.off(name, abort);
    },
  };
}
