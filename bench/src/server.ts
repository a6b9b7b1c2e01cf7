/** The server of a benchmark: embedded unless DATABASE_URL names one, with databases that are dropped after use. */
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmbedded } from "@jobforge/embedded";
import pg from "pg";

export interface BenchDatabase extends AsyncDisposable {
  readonly url: string;
}

export interface BenchServer {
  createDatabase(): Promise<BenchDatabase>;
  stop(): Promise<void>;
}

/** Durable, as in production: a benchmark that switches fsync off measures something else. */
const SETTINGS = { shared_buffers: "512MB", max_wal_size: "4GB" };

export async function startServer(version: 15 | 18 = 18): Promise<BenchServer> {
  const given = process.env["DATABASE_URL"];
  const directory = join(tmpdir(), `jobforge-bench-${version}`);
  const embedded = given ? undefined : await startEmbedded({ directory, version, settings: SETTINGS });
  const address = given ?? embedded?.url ?? "";
  let made = 0;
  return {
    createDatabase: async () => {
      made += 1;
      const name = `jobforge_bench_${process.pid}_${made}`;
      await runOn(address, `create database ${name}`);
      const url = new URL(address);
      url.pathname = `/${name}`;
      return {
        url: url.href,
        [Symbol.asyncDispose]: () => runOn(address, `drop database ${name} with (force)`),
      };
    },
    stop: async () => {
      await embedded?.stop();
      if (embedded) await rm(directory, { recursive: true, force: true });
    },
  };
}

async function runOn(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
