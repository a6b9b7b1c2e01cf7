/**
 * pgbouncer in transaction mode before a test server, of a kind that knows nothing of prepared statements: what a client may
 * rely on through it, it may rely on anywhere. Clients share few server sessions, so what one leaves behind another meets.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chown, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findTool, type Tool } from "../scripts/tools.js";

export interface Pooler extends AsyncDisposable {
  /** The URL given, through the pooler. */
  readonly url: string;
  /** Another URL of the same server through the pooler: another login, another database. */
  through(url: string): string;
  stop(): Promise<void>;
}

export interface PoolerOptions {
  /** Sessions of the server for each login and database. */
  readonly sessions?: number;
}

/** pgbouncer, or undefined where it cannot be had: then its tests are skipped, and a line has said so. */
export const pgbouncer: Tool | undefined = await findTool("pgbouncer");

const NOBODY = 65534;

/** Starts a pooler before the server of a superuser's URL. */
export async function startPooler(databaseUrl: string, options: PoolerOptions = {}): Promise<Pooler> {
  if (pgbouncer === undefined) throw new Error("pgbouncer is not to be had here");
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
      // Somebody else may have taken the port meanwhile.
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

/** Logins are looked up in the server when they come, with what the server knows of their passwords. */
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
    // From 1.21 on it can follow prepared statements; here it must not.
    ...(major > 1 || minor >= 21 ? ["max_prepared_statements = 0"] : []),
    // It refuses to stay root, and then runs as this user.
    ...(process.getuid?.() === 0 ? ["user = nobody"] : []),
  ];
  const settings = join(folder, "pgbouncer.ini");
  await writeFile(settings, `${lines.join("\n")}\n`);
  if (process.getuid?.() === 0) {
    for (const path of [folder, users, settings]) await chown(path, NOBODY, NOBODY);
  }
  return settings;
}

/** Starts it and waits until it says that it is up. */
async function startProcess(tool: Tool, settings: string): Promise<ChildProcess> {
  const child = spawn(tool.path, [settings], { env: tool.env, stdio: ["ignore", "ignore", "pipe"] });
  await new Promise<void>((resolve, reject) => {
    let log = "";
    child.stderr.on("data", (text: Buffer) => {
      log += text;
      if (log.includes("process up")) resolve();
      // What it says later is read, so that it is never held up, and not kept.
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
