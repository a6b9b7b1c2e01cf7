/** Waiting for an answer no longer than allowed. */
import { TimeoutError } from "./errors.ts";
import type { CallOptions } from "./transport/transport.ts";

const longestTimerMs = 2 ** 31 - 1;

/** Calls back after so long: never without a limit, and after 24 days at the latest, because longer timers fire at once. */
export function startTimer(timeoutMs: number | undefined, onTime: () => void): NodeJS.Timeout | undefined {
  if (timeoutMs === undefined || timeoutMs === Number.POSITIVE_INFINITY) return undefined;
  return setTimeout(onTime, Math.min(timeoutMs, longestTimerMs));
}

/**
 * The answer of the work, or the failure to wait for it: the signal's reason, or a TimeoutError. `giveUp` is told in that case, so that
 * it can drop what the work holds. The work itself goes on; how it ends is then ignored.
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
      stop(new TimeoutError(`${what} gave no answer within ${timeoutMs} ms`)),
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
