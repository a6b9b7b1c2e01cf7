/**
 * The server of a benchmark. It is embedded, unless DATABASE_URL or --database-url names another one. Its databases are
 * dropped after use.
 */
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmbedded } from "@jobforge/embedded";
import pg from "pg";
import { processes } from "./driver/cpu.ts";

export interface BenchDatabase extends AsyncDisposable {
  readonly url: string;
  readonly name: string;
}

export interface CopyOptions {
  /** The database to copy. It must have no connections. */
  readonly template?: string;
  /** Copies file by file: faster for large databases, slower for small ones, because it needs checkpoints. */
  readonly large?: boolean;
}

export interface BenchServer {
  createDatabase(options?: CopyOptions): Promise<BenchDatabase>;
  /** For example "18.1". */
  version(): Promise<string>;
  /** The parent process of all server processes, if the server runs on this machine. */
  pid(): Promise<number | undefined>;
  /** The settings that decide what a commit costs. */
  durability(): Promise<string>;
  stop(): Promise<void>;
}

export interface ServerOptions {
  readonly version?: 15 | 18;
  readonly url?: string | undefined;
}

/** The server is durable, as in production: a benchmark without fsync measures something else. */
const serverSettings = { shared_buffers: "512MB", max_wal_size: "4GB", max_connections: "600" };

export async function startServer(options: ServerOptions = {}): Promise<BenchServer> {
  const { version = 18, url: given = process.env["DATABASE_URL"] } = options;
  const directory = join(tmpdir(), `jobforge-bench-${version}-${process.pid}`);
  const embedded = given ? undefined : await startEmbedded({ directory, version, settings: serverSettings });
  const address = given ?? embedded?.url ?? "";
  // If the benchmark is interrupted, the server stops by itself, but its data must be removed here. It may be
  // gigabytes.
  const clear = (): void => rmSync(directory, { recursive: true, force: true });
  if (embedded) process.once("exit", clear);
  let made = 0;
  return {
    createDatabase: async ({ template, large = false } = {}) => {
      made += 1;
      const name = `jobforge_bench_${process.pid}_${made}`;
      const copied =
        template === undefined ? "" : ` template ${template}${large ? " strategy file_copy" : ""}`;
      await runOn(address, `create database ${name}${copied}`);
      const url = new URL(address);
      url.pathname = `/${name}`;
      return {
        url: url.href,
        name,
        [Symbol.asyncDispose]: async () => void (await runOn(address, `drop database ${name} with (force)`)),
      };
    },
    version: async () => String((await runOn(address, "show server_version"))["server_version"]),
    pid: () => postmaster(address),
    durability: async () => {
      const row = await runOn(
        address,
        `select string_agg(name || ' = ' || current_setting(name), ', ' order by name) as settings
         from pg_settings
         where name in ('fsync', 'synchronous_commit', 'full_page_writes', 'wal_level', 'shared_buffers', 'max_wal_size')`,
      );
      return String(row["settings"]);
    },
    stop: async () => {
      await embedded?.stop();
      process.off("exit", clear);
      if (embedded) clear();
    },
  };
}

/** The parent of a backend, if the backend is a process on this machine. */
async function postmaster(address: string): Promise<number | undefined> {
  const client = new pg.Client({ connectionString: address });
  await client.connect();
  try {
    const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
    const backend = processes()?.find(({ pid }) => pid === rows[0]?.pid);
    return backend?.name.startsWith("postgres") ? backend.parent : undefined;
  } finally {
    await client.end();
  }
}

async function runOn(url: string, statement: string): Promise<Readonly<Record<string, unknown>>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<Record<string, unknown>>(statement);
    return rows[0] ?? {};
  } finally {
    await client.end();
  }
}
