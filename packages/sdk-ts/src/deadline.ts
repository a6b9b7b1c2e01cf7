/** Waiting for a result, but no longer than allowed. */
import { TimeoutError } from "./errors.ts";
import type { CallOptions } from "./transport/transport.ts";

const longestTimerMs = 2 ** 31 - 1;

/**
 * Calls back after `timeoutMs`; never if that is undefined or Infinity. Waits 24 days at most, because Node fires
 * longer timers at once.
 */
export function startTimer(timeoutMs: number | undefined, onTime: () => void): NodeJS.Timeout | undefined {
  if (timeoutMs === undefined || timeoutMs === Number.POSITIVE_INFINITY) return undefined;
  return setTimeout(onTime, Math.min(timeoutMs, longestTimerMs));
}

/**
 * Resolves with the result of the work. If the signal is aborted or the time is over first, it rejects with the
 * signal's reason or a TimeoutError, and calls `giveUp`, which can drop what the work holds. The work itself goes on,
 * and its result is ignored.
 */
export function withDeadline<T>(
  what: string,
  options: CallOptions,
  work: Promise<T>,
  giveUp: () => void = () => undefined,
): Promise<T> {
  const { signal, timeoutMs } = options;
  if (signal === undefined && timeoutMs === undefined) return work;
  return new Promise<T>((resolve, reject) => {
    const stop = (reason: unknown): void => {
      clear();
      giveUp();
      reject(reason);
    };
    const onAbort = (): void => stop(signal?.reason);
    const timer = startTimer(timeoutMs, () =>
      stop(new TimeoutError(`${what} did not respond within ${timeoutMs} ms`)),
    );
    const clear = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    work.then(
      (value) => {
        clear();
        resolve(value);
      },
      (error: unknown) => {
        clear();
        reject(error);
      },
    );
    if (signal?.aborted) onAbort();
  });
}
