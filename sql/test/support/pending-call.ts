/** Calls that may get stuck behind each other. */
import type { TestConnection, TestDatabase } from "@jobforge/testing";
import { backendOf, codeOf } from "./kernel.ts";

export interface PendingCall {
  /** How it ended: an SQLSTATE, or 'ok'. */
  readonly code: Promise<string>;
  /** Comes back when the call waits for somebody else's lock, or has ended. */
  stuckOrDone(): Promise<void>;
}

/** Makes a call on a connection of its own, and comes back when it is stuck or done. */
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
