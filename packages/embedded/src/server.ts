/**
 * Guarantees a server that accepts connections: one of ours that is still running, or a new one, on the fixed port or
 * on any free port. If that fails, the error quotes the server's log.
 */

import { spawn } from "node:child_process";
import { closeSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { Binaries } from "./binaries.ts";
import { EmbeddedPostgresError } from "./errors.ts";
import { openLog, type ServerLog } from "./log.ts";
import { freePort, isFree } from "./ports.ts";
import {
  disarmStalePidFile,
  findPostmaster,
  type PidFile,
  readPidFile,
  wasStartedWith,
} from "./postmaster.ts";
import { identityOf, isAlive } from "./processes.ts";
import { type ServerUser, spawnOptionsFor } from "./server-user.ts";
import { serverArguments } from "./settings.ts";
import { isRunning, type RunningServer, stopServer } from "./stop.ts";

export interface ServerPlan {
  readonly dataDirectory: string;
  readonly user: ServerUser;
  readonly binaries: Binaries;
  readonly logFile: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly fixedPort: number | undefined;
  readonly rememberedPort: number | undefined;
  readonly onProgress: (message: string) => void;
  /** Called as soon as a process exists, so that it is stopped if this process ends before the server is ready. */
  readonly onSpawn: (server: RunningServer) => void;
}

const pollMs = 10;
const portAttempts = 10;
const portInUse = /could not bind|could not create any TCP\/IP sockets/;
/** Backends of a crashed server end within moments. A server whose owner was killed becomes adoptable at once. */
const predecessor = /pre-existing shared memory block|lock file "postmaster.pid" (already exists|is empty)/;
const predecessorLimitMs = 30_000;

export interface Obtained {
  readonly server: RunningServer;
  readonly adopted: boolean;
}

export async function obtainServer(plan: ServerPlan): Promise<Obtained> {
  const waitUntil = Date.now() + predecessorLimitMs;
  let portsTried = 0;
  for (;;) {
    const adopted = await adoptServer(plan);
    if (adopted !== undefined) return { server: adopted, adopted: true };
    const port = await choosePort(plan, portsTried);
    const { server, said } = await launchOn(port, plan);
    if (server !== undefined) return { server, adopted: false };
    if (portInUse.test(said)) {
      if (plan.fixedPort !== undefined) throw portTaken(port);
      portsTried += 1;
      if (portsTried < portAttempts) continue;
    }
    if (!predecessor.test(said) || Date.now() > waitUntil) throw startFailed(said, plan);
    await delay(pollMs);
  }
}

/**
 * Adopts a server left behind by a killed process if it runs with the requested settings and port. Otherwise the
 * server is stopped: it has no owner, and settings such as fsync=off must not outlive the tests that set them.
 */
async function adoptServer(plan: ServerPlan): Promise<RunningServer | undefined> {
  const found = findPostmaster(plan.dataDirectory);
  if (found === undefined) return undefined;
  // The server writes the port a moment after it creates the file.
  const file = found.ready ? found : await readyPidFile(plan.dataDirectory, found.pid);
  if (file === undefined) return undefined;
  const { dataDirectory, user, binaries } = plan;
  const server = { ...identityOf(file.pid), port: file.port, dataDirectory, user, pgCtl: binaries.pgCtl };
  const portFits = plan.fixedPort === undefined || plan.fixedPort === file.port;
  if (portFits && wasStartedWith(dataDirectory, serverArguments(dataDirectory, file.port, plan.settings))) {
    plan.onSpawn(server);
    return server;
  }
  plan.onProgress(`Restarting PostgreSQL (process ${file.pid}), which was left running with other settings`);
  // Its owner is gone, so no session is leaving in an orderly way.
  await stopServer(server, 0);
  return undefined;
}

async function choosePort(plan: ServerPlan, portsTried: number): Promise<number> {
  if (plan.fixedPort !== undefined) {
    if (await isFree(plan.fixedPort)) return plan.fixedPort;
    throw portTaken(plan.fixedPort);
  }
  const { rememberedPort } = plan;
  return portsTried === 0 && rememberedPort !== undefined && (await isFree(rememberedPort))
    ? rememberedPort
    : freePort();
}

interface Launch {
  /** Undefined if it ended before it was ready. */
  readonly server?: RunningServer;
  /** The end of its log. */
  readonly said: string;
}

async function launchOn(port: number, plan: ServerPlan): Promise<Launch> {
  const { dataDirectory, user, binaries } = plan;
  disarmStalePidFile(dataDirectory, user);
  const log = openLog(plan.logFile);
  const child = spawn(binaries.postgres, serverArguments(dataDirectory, port, plan.settings), {
    ...spawnOptionsFor(user),
    cwd: dataDirectory,
    // In its own process group: Ctrl-C in a terminal reaches only this process, which then stops the server cleanly.
    detached: true,
    stdio: ["ignore", log.file, log.file],
  });
  closeSync(log.file);
  let spawnError: Error | undefined;
  child.once("error", (error) => {
    spawnError = error;
  });
  child.unref();
  const { pid } = child;
  if (pid === undefined) {
    await delay(0);
    return { said: spawnError?.message ?? "The program could not be started." };
  }
  const server = { ...identityOf(pid), port, dataDirectory, user, pgCtl: binaries.pgCtl, child };
  plan.onSpawn(server);
  return waitUntilReady(server, log);
}

/** Has no time limit: recovery after a crash may take any time, and the end of the process ends the wait. */
async function waitUntilReady(server: RunningServer, log: ServerLog): Promise<Launch> {
  while (isRunning(server) || isStarting(server)) {
    const file = readPidFile(server.dataDirectory);
    if (file?.pid === server.pid && file.ready) return { server, said: "" };
    await delay(pollMs);
  }
  return { said: log.tail() };
}

/** Except on Linux, `isRunning` needs the pid file, which a starting server has not written yet. */
function isStarting({ child }: RunningServer): boolean {
  return child !== undefined && child.exitCode === null && child.signalCode === null;
}

async function readyPidFile(dataDirectory: string, pid: number): Promise<PidFile | undefined> {
  while (isAlive(pid)) {
    const file = readPidFile(dataDirectory);
    if (file?.pid !== pid) return undefined;
    if (file.ready) return file;
    await delay(pollMs);
  }
  return undefined;
}

function portTaken(port: number): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    "port_taken",
    `Port ${port} on 127.0.0.1 is in use by another program.`,
    "Choose another port, or omit the option to get a free one.",
  );
}

function startFailed(said: string, plan: ServerPlan): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    "start_failed",
    `PostgreSQL did not start. The end of its log:\n${said}`,
    `The whole log is in ${plan.logFile}. If the log names a setting, correct it in the option \`settings\`.`,
  );
}
