/** Calls that may wait for each other's locks. */
import type { TestConnection, TestDatabase } from "@jobforge/testing";
import { backendOf, codeOf } from "./kernel.ts";

export interface PendingCall {
  /** Resolves to the SQLSTATE of the call's error, or 'ok'. */
  readonly code: Promise<string>;
  /** Resolves when the call waits for the lock of another connection, or has ended. */
  stuckOrDone(): Promise<void>;
}

/** Makes a call on a new connection, and resolves when the call is stuck or done. */
export async function startCall(
  db: TestDatabase,
  call: (connection: TestConnection) => Promise<unknown>,
): Promise<PendingCall> {
  const connection = await db.connect();
  const backend = await backendOf(connection);
  let done = false;
  const code = codeOf(call(connection)).finally(() => {
    done = true;
  });
  const isStuck = "select cardinality(pg_blocking_pids($1)) > 0";
  const stuckOrDone = async (): Promise<void> => {
    while (!done && !(await db.value<boolean>(isStuck, [backend])));
  };
  await stuckOrDone();
  return { code, stuckOrDone };
}
