/**
 * Guarantees a clean stop of exactly the given server: sessions that are closing may finish closing ("smart"), then
 * open transactions are rolled back and data is flushed ("fast"). A later process with the same process id is never
 * signalled.
 */

import { type ChildProcess, spawnSync } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { EmbeddedPostgresError, systemCode } from "./errors.ts";
import { readPidFile } from "./postmaster.ts";
import { isSameProcessAlive, type ProcessIdentity } from "./processes.ts";
import { type ServerUser, spawnOptionsFor } from "./server-user.ts";

export interface RunningServer extends ProcessIdentity {
  readonly port: number;
  readonly dataDirectory: string;
  readonly user: ServerUser;
  readonly pgCtl: string;
  /** Set if this process started the server. */
  readonly child?: ChildProcess;
}

const pollMs = 10;
/**
 * `pool.end()` of pg resolves before the server has seen the end of its sessions. A fast stop at that moment sends them
 * an error that the application can no longer catch, so they have this long to leave.
 */
const leavingMs = 2_000;
const fastLimitMs = 60_000;
const immediateLimitMs = 10_000;

type Mode = "smart" | "fast" | "immediate";

const signals: Readonly<Record<Mode, NodeJS.Signals>> = {
  smart: "SIGTERM",
  fast: "SIGINT",
  immediate: "SIGQUIT",
};

/** `smartMs` is how long sessions may leave by themselves. The stop does not wait if there are none. */
export async function stopServer(server: RunningServer, smartMs: number = leavingMs): Promise<void> {
  // Fast mode flushes all data, which can take long after heavy writes. Immediate mode leaves that to the next start.
  for (const [mode, limit] of [
    ["smart", smartMs],
    ["fast", fastLimitMs],
    ["immediate", immediateLimitMs],
  ] as const) {
    requestStop(server, mode);
    const deadline = Date.now() + limit;
    while (isRunning(server) && Date.now() < deadline) await delay(pollMs);
    if (!isRunning(server)) return;
  }
  throw new EmbeddedPostgresError(
    "stop_failed",
    `PostgreSQL (process ${server.pid}) did not stop.`,
    `Check its log, then end process ${server.pid} yourself.`,
  );
}

/**
 * Stops the server without the event loop, for a process that is ending. Once it has the signal, the server stops
 * even if the wait ends early.
 */
export function stopServerBlocking(server: RunningServer): void {
  requestStop(server, "fast");
  const clock = new Int32Array(new SharedArrayBuffer(4));
  const deadline = Date.now() + fastLimitMs;
  while (isRunning(server) && Date.now() < deadline) Atomics.wait(clock, 0, 0, pollMs);
}

export function isRunning(server: RunningServer): boolean {
  const { child } = server;
  if (child !== undefined && (child.exitCode !== null || child.signalCode !== null)) return false;
  if (!isSameProcessAlive(server)) return false;
  // Except on Linux, a child that ended looks alive while the event loop is blocked, but its pid file is gone.
  return process.platform === "linux" || readPidFile(server.dataDirectory)?.pid === server.pid;
}

function requestStop(server: RunningServer, mode: Mode): void {
  if (!isRunning(server)) return;
  if (process.platform === "win32") {
    const args = ["stop", "-D", server.dataDirectory, "-m", mode, "-W"];
    spawnSync(server.pgCtl, args, { ...spawnOptionsFor(server.user), stdio: "ignore" });
    return;
  }
  try {
    process.kill(server.pid, signals[mode]);
  } catch (error) {
    if (systemCode(error) !== "ESRCH") throw error;
  }
}
