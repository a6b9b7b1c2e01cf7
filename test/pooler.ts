/**
 * Runs pgbouncer in transaction mode in front of a test server, without support for prepared statements. This is the
 * most restrictive pooler: a client that works through it works through any other. Clients share few server sessions,
 * so a test notices any session state that another client leaves behind.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chown, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findTool, type Tool } from "../scripts/tools.js";

export interface Pooler extends AsyncDisposable {
  /** The URL given to `startPooler`, changed to go through the pooler. */
  readonly url: string;
  /** Changes another URL of the same server, with another login or database, to go through the pooler. */
  through(url: string): string;
  stop(): Promise<void>;
}

export interface PoolerOptions {
  /** Server sessions for each login and database. Default: 2. */
  readonly sessions?: number;
}

/** pgbouncer, or undefined if it is not available. Then its tests are skipped, and `findTool` has printed a warning. */
export const pgbouncer: Tool | undefined = await findTool("pgbouncer");

/** The id of the user and the group without privileges, `nobody`. */
const nobodyId = 65534;

/** Starts a pooler in front of a server. The URL must be a superuser's. */
export async function startPooler(databaseUrl: string, options: PoolerOptions = {}): Promise<Pooler> {
  if (pgbouncer === undefined) throw new Error("pgbouncer is not available on this system");
  const folder = await mkdtemp(join(tmpdir(), "jobforge-pooler-"));
  for (let tries = 1; ; tries += 1) {
    const port = await freePort();
    const settings = await writeSettings(
      folder,
      new URL(databaseUrl),
      port,
      options.sessions ?? 2,
      pgbouncer,
    );
    try {
      const child = await startProcess(pgbouncer, settings);
      return poolerOf(child, folder, port, databaseUrl);
    } catch (error) {
      // Another process may have taken the port in the meantime.
      if (tries < 5 && `${error}`.includes("already in use")) continue;
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }
}

function poolerOf(child: ChildProcess, folder: string, port: number, databaseUrl: string): Pooler {
  const kill = (): void => void child.kill("SIGKILL");
  process.once("exit", kill);
  const through = (url: string): string => {
    const changed = new URL(url);
    changed.hostname = "127.0.0.1";
    changed.port = String(port);
    return changed.href;
  };
  const stop = async (): Promise<void> => {
    process.removeListener("exit", kill);
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, "exit");
      kill();
      await ended;
    }
    await rm(folder, { recursive: true, force: true });
  };
  return { url: through(databaseUrl), through, stop, [Symbol.asyncDispose]: stop };
}

/**
 * Writes the settings of pgbouncer. It looks up each login, with its password hash, in the server when a client
 * connects.
 */
async function writeSettings(
  folder: string,
  server: URL,
  port: number,
  sessions: number,
  tool: Tool,
): Promise<string> {
  const superuser = decodeURIComponent(server.username);
  const users = join(folder, "users.txt");
  const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;
  await writeFile(users, `${quoted(superuser)} ${quoted(decodeURIComponent(server.password))}\n`, {
    mode: 0o600,
  });
  const [major = 0, minor = 0] = tool.version.split(".").map(Number);
  const lines = [
    "[databases]",
    `* = host=${server.hostname} port=${server.port} auth_user=${superuser}`,
    "[pgbouncer]",
    "listen_addr = 127.0.0.1",
    `listen_port = ${port}`,
    "unix_socket_dir =",
    "auth_type = scram-sha-256",
    `auth_file = ${users}`,
    "auth_query = select rolname, rolpassword from pg_authid where rolname = $1 and rolcanlogin",
    "pool_mode = transaction",
    `default_pool_size = ${sessions}`,
    "max_client_conn = 500",
    // pgbouncer 1.21 and later support prepared statements; here they must stay unsupported.
    ...(major > 1 || minor >= 21 ? ["max_prepared_statements = 0"] : []),
    // pgbouncer refuses to run as root, so it switches to this user.
    ...(process.getuid?.() === 0 ? ["user = nobody"] : []),
  ];
  const settings = join(folder, "pgbouncer.ini");
  await writeFile(settings, `${lines.join("\n")}\n`);
  if (process.getuid?.() === 0) {
    for (const path of [folder, users, settings]) await chown(path, nobodyId, nobodyId);
  }
  return settings;
}

/** Starts pgbouncer and waits until it logs that it is up. */
async function startProcess(tool: Tool, settings: string): Promise<ChildProcess> {
  const child = spawn(tool.path, [settings], { env: tool.env, stdio: ["ignore", "ignore", "pipe"] });
  await new Promise<void>((resolve, reject) => {
    let log = "";
    child.stderr.on("data", (text: Buffer) => {
      log += text;
      if (log.includes("process up")) resolve();
      // Later output is read but not kept, so that a full pipe never blocks pgbouncer.
      if (log.length > 100_000) log = "";
    });
    child.once("error", reject);
    child.once("exit", () => reject(new Error(`pgbouncer did not start:\n${log}`)));
  });
  return child;
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen({ port: 0, host: "127.0.0.1", exclusive: true });
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}
