/**
 * Guarantees one server per directory and a handle that owns it. Either the server is running and owned, or the
 * directory is free again and the error gives the reason.
 */

import { addressOf, urlWithoutPassword } from "./address.ts";
import { findBinaries, type PostgresVersion } from "./binaries.ts";
import { createData, locateData } from "./data-directory.ts";
import { EmbeddedPostgresError } from "./errors.ts";
import { atExit } from "./exit.ts";
import {
  type Home,
  openHome,
  readPassword,
  rememberedPort,
  rememberPort,
  unreadable,
  writeNewPassword,
} from "./home.ts";
import { claimOwnership, type Owner, type Ownership } from "./ownership.ts";
import { obtainServer, type ServerPlan } from "./server.ts";
import { checkSettings } from "./settings.ts";
import { type RunningServer, stopServer, stopServerBlocking } from "./stop.ts";
import type { EmbeddedOptions, EmbeddedPostgres, StopOptions } from "./types.ts";

/** Starts a real PostgreSQL, or takes over the one that a killed process left behind in the same directory. */
export async function startEmbedded(options: EmbeddedOptions = {}): Promise<EmbeddedPostgres> {
  const version = checkOptions(options);
  const home = openHome(options.directory, version);
  const ownership = claim(home);
  if ("heldBy" in ownership) throw alreadyRunning(home, ownership.heldBy);
  const custody = takeCustody(ownership, options.stopOnExit ?? true);
  try {
    return await bringUp(home, options, ownership, custody);
  } catch (error) {
    await custody.stop().catch(() => {});
    throw error;
  }
}

function claim(home: Home): ReturnType<typeof claimOwnership> {
  try {
    return claimOwnership(home.path);
  } catch (error) {
    throw unreadable(home.path, error);
  }
}

/** The server and the directory that this process must give up before it ends. */
interface Custody {
  watch(server: RunningServer): void;
  /** Stops the server and frees the directory. Only the first call does anything. */
  stop(options?: StopOptions): Promise<void>;
}

function takeCustody(ownership: Ownership, stopOnExit: boolean): Custody {
  let server: RunningServer | undefined;
  let stopped: Promise<void> | undefined;
  const endNow = (): void => {
    if (server !== undefined) stopServerBlocking(server);
    ownership.release();
  };
  const forget = stopOnExit ? atExit(endNow) : () => {};
  const stop = async ({ leavingMs }: StopOptions): Promise<void> => {
    try {
      if (server !== undefined) await stopServer(server, leavingMs);
      ownership.release();
    } finally {
      forget();
    }
  };
  return {
    watch: (spawned) => {
      server = spawned;
    },
    stop: (options = {}) => {
      stopped ??= stop(options);
      return stopped;
    },
  };
}

async function bringUp(
  home: Home,
  options: EmbeddedOptions,
  ownership: Ownership,
  custody: Custody,
): Promise<EmbeddedPostgres> {
  const onProgress = options.onProgress ?? (() => {});
  const settings = options.settings ?? {};
  const { fsync } = settings;
  const data = locateData(home);
  const binaries = await findBinaries(home.version, data.user, home.directory, onProgress);
  const password = data.exists ? readPassword(home) : writeNewPassword(home);
  if (!data.exists) {
    onProgress(`Creating a PostgreSQL ${home.version} database in ${data.path}`);
    await createData(data, binaries, { home, password, sync: fsync !== "off" });
  }
  const plan: ServerPlan = {
    dataDirectory: data.path,
    user: data.user,
    binaries,
    logFile: home.logFile,
    settings,
    fixedPort: options.port,
    rememberedPort: rememberedPort(home),
    onProgress,
    onSpawn: custody.watch,
  };
  const { server, adopted } = await obtainServer(plan);
  rememberPort(home, server.port);
  ownership.announce(server.port);
  onProgress(
    `PostgreSQL ${home.version} ${adopted ? "was still running" : "is ready"} on 127.0.0.1:${server.port}`,
  );
  return {
    ...addressOf(server, home.directory, password),
    adopted,
    stop: custody.stop,
    [Symbol.asyncDispose]: custody.stop,
  };
}

function checkOptions({ version = 18, port, settings = {} }: EmbeddedOptions): PostgresVersion {
  checkSettings(settings);
  if (version !== 18 && version !== 15) {
    throw new EmbeddedPostgresError(
      "invalid_option",
      `Version ${version} is not supported.`,
      "Use 18 or 15.",
    );
  }
  if (port !== undefined && !(Number.isInteger(port) && port > 0 && port < 65536)) {
    throw new EmbeddedPostgresError(
      "invalid_option",
      `${port} is not a valid port.`,
      "Use a number from 1 to 65535.",
    );
  }
  return version;
}

function alreadyRunning(home: Home, { pid, port }: Owner): EmbeddedPostgresError {
  const where = port === undefined ? "and is starting it" : `at ${urlWithoutPassword(port)}`;
  return new EmbeddedPostgresError(
    "already_running",
    `Process ${pid} already runs the PostgreSQL in ${home.directory} ${where}.`,
    `Use that server (its password is in ${home.passwordFile}), end process ${pid}, or choose another directory.`,
  );
}
