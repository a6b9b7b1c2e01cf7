/**
 * One Postgres for a whole test run. A migrated database in it is the template for the database of each test. Time
 * travel is allowed, so no test has to sleep to test a backoff.
 */
import { randomBytes } from "node:crypto";
import { statfsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmbedded } from "@jobforge/embedded";
import { migrate } from "@jobforge/sql";
import pg from "pg";

/** How tests find the server: plain data, so that a test runner can pass it to its processes. */
export interface TestServerAddress {
  /** The URL of the maintenance database, for a superuser. */
  readonly url: string;
  /** The database that tests clone. */
  readonly template: string;
}

export interface TestServer extends TestServerAddress, AsyncDisposable {
  stop(): Promise<void>;
}

export interface TestServerOptions {
  /** The major version of the embedded server. */
  readonly version?: 18 | 15;
  /** The URL of another server to use instead of an embedded one. Its role must be a superuser. */
  readonly url?: string;
}

/** Starts a server for a test run, or uses the given one, and prepares the template. */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const directory = join(throwawayRoot(), `jobforge-test-${process.pid}-${Date.now()}`);
  const embedded =
    options.url === undefined ? await startThrowaway(directory, options.version ?? 18) : undefined;
  const url = options.url ?? embedded?.url ?? "";
  // Several test runs may use the same server, even from one process.
  const template = `jobforge_template_${process.pid}_${randomBytes(4).toString("hex")}`;
  await prepareTemplate(url, template);
  const stop = async (): Promise<void> => {
    await runOn(url, `drop database if exists ${template} with (force)`);
    await embedded?.stop();
    await rm(directory, { recursive: true, force: true });
  };
  return { url, template, stop, [Symbol.asyncDispose]: stop };
}

/** A directory in memory if the system has enough of it, else on disk. Clones are ten times as fast in memory. */
function throwawayRoot(): string {
  const memory = "/dev/shm";
  try {
    const { bavail, bsize } = statfsSync(memory);
    return bavail * bsize > 6 * 2 ** 30 ? memory : tmpdir();
  } catch {
    return tmpdir();
  }
}

/** Durability is switched off, because no data has to outlive the test run. */
async function startThrowaway(
  directory: string,
  version: 18 | 15,
): Promise<{ url: string; stop(): Promise<void> }> {
  return await startEmbedded({
    directory,
    version,
    settings: {
      fsync: "off",
      synchronous_commit: "off",
      full_page_writes: "off",
      max_connections: "300",
      shared_buffers: "256MB",
      wal_level: "minimal",
      max_wal_senders: "0",
      max_wal_size: "1GB",
      autovacuum_naptime: "5s",
    },
  });
}

async function prepareTemplate(url: string, template: string): Promise<void> {
  await runOn(url, `create database ${template}`);
  const client = new pg.Client({ connectionString: databaseUrl(url, template) });
  await client.connect();
  try {
    await migrate({ database: client });
    await client.query("select jobforge.allow_time_travel(true)");
  } finally {
    await client.end();
  }
}

/** One idle connection per server, because a login costs as much as a clone. It does not keep the process alive. */
const maintenance: Map<string, pg.Pool> = new Map();

/** Runs one statement on the maintenance database. */
export async function runOn(url: string, sql: string): Promise<void> {
  let pool = maintenance.get(url);
  if (pool === undefined) {
    pool = new pg.Pool({ connectionString: url, max: 2, allowExitOnIdle: true });
    // The server of a test run stops while connections are open; the next statement reports that.
    pool.on("error", () => undefined);
    maintenance.set(url, pool);
  }
  await pool.query(sql);
}

/** The same server and login, another database. */
export function databaseUrl(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  return changed.href;
}
