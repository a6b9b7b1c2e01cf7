/**
 * Runs redis-server for tests, benchmarks and chaos: one server, or a cluster. Each server has a free port, a folder of
 * its own and no configuration file, so a Redis that runs on the machine is not touched.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findTool, type Tool } from "../scripts/tools.js";

export interface RedisServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly version: string;
  /** The id of the process, which changes with a restart. */
  readonly pid: number;
  /** Sends an inline command and resolves to the first line of the response. */
  say(command: string): Promise<string>;
  /** Ends the server at once, as a crash does. */
  kill(): Promise<void>;
  /** Starts a killed server again, with its data. */
  restart(): Promise<void>;
  empty(): Promise<void>;
  stop(): Promise<void>;
}

export interface RedisOptions {
  /** When the log of writes is synced to disk. `no` keeps no log at all. Default `no`. */
  readonly fsync?: "always" | "everysec" | "no" | undefined;
  /** More arguments of redis-server. */
  readonly more?: readonly string[] | undefined;
}

/** redis-server, or undefined if it is not available. Then its tests are skipped, and `findTool` has said so. */
export async function findRedis(): Promise<Tool | undefined> {
  return await findTool("redis-server");
}

/** Starts a server. Rejects with the reason if redis-server is not installed and cannot be downloaded. */
export async function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  const tool = await findRedis();
  if (tool === undefined)
    throw new Error("redis-server is not installed and could not be downloaded with apt-get");
  for (let tries = 1; ; tries += 1) {
    const server = new Server(
      tool,
      await freePort(),
      await mkdtemp(join(tmpdir(), "jobforge-redis-")),
      options,
    );
    try {
      await server.restart();
      return server;
    } catch (error) {
      await server.stop();
      // Another program may have taken the port meanwhile.
      if (tries === 5) throw error;
    }
  }
}

class Server implements RedisServer {
  readonly url: string;
  readonly port: number;
  readonly version: string;
  readonly #tool: Tool;
  readonly #folder: string;
  readonly #options: RedisOptions;
  #child: ChildProcess | undefined;
  readonly #onExit = (): void => {
    this.#child?.kill("SIGKILL");
    this.#clear();
  };

  constructor(tool: Tool, port: number, folder: string, options: RedisOptions) {
    this.#tool = tool;
    this.#folder = folder;
    this.#options = options;
    this.port = port;
    this.url = `redis://127.0.0.1:${port}`;
    this.version = tool.version;
    // The server must not outlive a run that is interrupted.
    process.once("exit", this.#onExit);
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  say(command: string): Promise<string> {
    return say(this.port, command);
  }

  async restart(): Promise<void> {
    const { fsync = "no", more = [] } = this.#options;
    const place = ["--port", String(this.port), "--bind", "127.0.0.1", "--dir", this.#folder];
    const log = ["--appendonly", fsync === "no" ? "no" : "yes", "--appendfsync", fsync, "--save", ""];
    const child = spawn(this.#tool.path, [...place, ...log, "--maxmemory-policy", "noeviction", ...more], {
      env: this.#tool.env,
      stdio: "ignore",
    });
    this.#child = child;
    for (let tries = 400; (await this.say("PING").catch(() => "")) !== "+PONG"; tries -= 1) {
      if (tries === 0 || child.exitCode !== null) throw new Error("redis-server did not start");
      await sleep(25);
    }
  }

  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  async empty(): Promise<void> {
    await this.say("FLUSHALL");
  }

  async stop(): Promise<void> {
    process.off("exit", this.#onExit);
    await this.#end("SIGTERM");
    this.#clear();
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  }

  #clear(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

export interface RedisCluster extends AsyncDisposable {
  /** The masters at the start. */
  readonly masters: readonly RedisServer[];
  readonly urls: readonly string[];
  stop(): Promise<void>;
}

const clusterSlots = 16_384;

/** Starts three masters with a replica each. A replica takes over a second after its master has died. */
export async function startRedisCluster(): Promise<RedisCluster> {
  const more = [
    "--cluster-enabled",
    "yes",
    "--cluster-node-timeout",
    "1000",
    "--repl-diskless-sync-delay",
    "0",
  ];
  const servers = await Promise.all(Array.from({ length: 6 }, () => startRedis({ more })));
  const stop = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.stop()));
  };
  try {
    await join6(servers);
  } catch (error) {
    await stop();
    throw error;
  }
  const masters = servers.slice(0, 3);
  return { masters, urls: servers.map(({ url }) => url), stop, [Symbol.asyncDispose]: stop };
}

/** Makes a cluster of three masters and three replicas, as `redis-cli --cluster create` does. */
async function join6(servers: readonly RedisServer[]): Promise<void> {
  const [first] = servers;
  if (first === undefined) throw new Error("There are no servers");
  const share = Math.ceil(clusterSlots / 3);
  for (const [place, server] of servers.entries()) {
    await server.say(`CLUSTER SET-CONFIG-EPOCH ${place + 1}`);
    if (place >= 3) continue;
    const last = Math.min(clusterSlots, (place + 1) * share) - 1;
    await server.say(`CLUSTER ADDSLOTSRANGE ${place * share} ${last}`);
  }
  for (const server of servers) await server.say(`CLUSTER MEET 127.0.0.1 ${first.port}`);
  const ids = await Promise.all(servers.map((server) => bulk(server.port, "CLUSTER MYID")));
  for (const [place, server] of servers.entries()) {
    if (place < 3) continue;
    // The replica must have heard of its master first.
    await until(async () => (await server.say(`CLUSTER REPLICATE ${ids[place - 3]}`)) === "+OK");
  }
  await until(async () => {
    const infos = await Promise.all(servers.map(({ port }) => bulk(port, "CLUSTER INFO")));
    const nodes = await Promise.all(servers.map(({ port }) => bulk(port, "CLUSTER NODES")));
    const links = await Promise.all(servers.slice(3).map(({ port }) => bulk(port, "INFO replication")));
    return (
      infos.every((info) => info.includes("cluster_state:ok") && info.includes("cluster_known_nodes:6")) &&
      nodes.every((text) => text.match(/slave/g)?.length === 3) &&
      links.every((info) => info.includes("master_link_status:up"))
    );
  });
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  for (let tries = 1200; !(await isTrue().catch(() => false)); tries -= 1) {
    if (tries === 0) throw new Error("The Redis cluster did not form");
    await sleep(50);
  }
}

/** The first line of a response. */
async function say(port: number, command: string): Promise<string> {
  return (await ask(port, command, (text) => text.includes("\r\n"))).split("\r\n")[0] ?? "";
}

/** A response that is one text of several lines. */
async function bulk(port: number, command: string): Promise<string> {
  const isWhole = (text: string): boolean => {
    const [head = ""] = text.split("\r\n", 1);
    return text.length >= head.length + 2 + Number(head.slice(1)) + 2;
  };
  const text = await ask(port, command, isWhole);
  return text.slice(text.indexOf("\r\n") + 2).trim();
}

function ask(port: number, command: string, isWhole: (text: string) => boolean): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const socket = connect(port, "127.0.0.1", () => socket.write(`${command}\r\n`));
    socket.setEncoding("utf8");
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("redis-server closed the connection")));
    socket.on("data", (part) => {
      text += part;
      if (text.startsWith("-")) reject(new Error(text));
      else if (isWhole(text)) resolve(text);
      else return;
      socket.destroy();
    });
  });
}

/** A free port. For a cluster, the port that is higher by 10,000 must exist too. */
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      server.close(() => resolve(port > 55_000 ? port - 30_000 : port));
    });
  });
}
