/** Starts a Redis for the benchmark. It syncs its log to disk once a second, as BullMQ's production guide advises. */
import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findTool } from "../../../scripts/tools.js";

export interface RedisServer extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  readonly version: string;
  empty(): Promise<void>;
}

const settings = [
  "--appendonly",
  "yes",
  "--appendfsync",
  "everysec",
  "--save",
  "",
  "--maxmemory-policy",
  "noeviction",
];

/** Starts Redis. Rejects with the reason if redis-server is not installed and cannot be downloaded. */
export async function startRedis(): Promise<RedisServer> {
  const tool = await findTool("redis-server");
  if (tool === undefined)
    throw new Error("redis-server is not installed and could not be downloaded with apt-get");
  const folder = await mkdtemp(join(tmpdir(), "jobforge-bench-redis-"));
  const port = await freePort();
  const place = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder];
  const child = spawn(tool.path, [...place, ...settings], { env: tool.env, stdio: "ignore" });
  const ended = new Promise<void>((resolve) => child.on("close", () => resolve()));
  const clear = (): void => rmSync(folder, { recursive: true, force: true });
  // Kill the server if the driver is interrupted.
  const kill = (): void => {
    child.kill("SIGKILL");
    clear();
  };
  process.once("exit", kill);
  const stop = async (): Promise<void> => {
    process.off("exit", kill);
    child.kill("SIGTERM");
    await ended;
    clear();
  };
  try {
    for (let tries = 100; (await say(port, "PING").catch(() => "")) !== "+PONG"; tries -= 1) {
      if (tries === 0 || child.exitCode !== null) throw new Error("redis-server did not start");
      await sleep(50);
    }
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    pid: child.pid ?? 0,
    version: tool.version,
    empty: async () => void (await say(port, "FLUSHALL")),
    [Symbol.asyncDispose]: stop,
  };
}

/** Sends an inline command and resolves to the first line of the response. */
function say(port: number, command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(`${command}\r\n`));
    socket.setEncoding("utf8");
    socket.on("error", reject);
    socket.on("data", (text) => {
      resolve(String(text).split("\r\n")[0] ?? "");
      socket.destroy();
    });
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}
