/**
 * Calls to Redis wait until a lost connection is available again. A worker must not wait that long: it reports the
 * trouble and tries again.
 */
import { ConnectionError, JobForgeError, TimeoutError } from "@jobforge/sdk-ts";
import type { Connection } from "../connection.ts";

/** The result of a call, or a ConnectionError, which makes the worker try again. */
export async function withinTime<T>({ trouble }: Connection, ms: number, call: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const reason = trouble();
      const tail = reason === undefined ? "" : `: ${reason}`;
      const hint = "Check the URL, and check that the server is running.";
      reject(new TimeoutError(`Redis did not respond within ${ms} ms${tail}`, { hint }));
    }, ms);
  });
  try {
    return await Promise.race([call, late]);
  } catch (error) {
    throw asConnectionError(error);
  } finally {
    clearTimeout(timer);
  }
}

export function asConnectionError(error: unknown): Error {
  if (error instanceof JobForgeError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const isLogin = /^(?:WRONGPASS|NOAUTH|NOPERM)/.test(message);
  return new ConnectionError(`Redis: ${message}`, {
    cause: error,
    ...(isLogin ? { hint: "Check the user and the password in the URL, and what the user may do." } : {}),
  });
}
