/**
 * One Postgres for a whole test run. A migrated database in it is the template for the database of each test. Time
 * travel is allowed, so no test has to sleep to test a backoff.
 */
import { randomBytes } from "node:crypto";
import { statfsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { migrate } from "@jobforge/sql";
import pg, { type Client } from "pg";
import { loadEmbedded } from "./embedded.ts";

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
  /**
   * Prepares the template once, after JobForge is migrated: the tables and rows that every test starts with. It gets a
   * connection of a superuser, and the URL of the template for tools that need one. Close every connection that you
   * open with the URL.
   */
  readonly prepare?: (client: Client, url: string) => unknown;
}

/** Starts a server for a test run, or uses the given one, and prepares the template. */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const directory = join(throwawayRoot(), `jobforge-test-${process.pid}-${Date.now()}`);
  const embedded =
    options.url === undefined ? await startThrowaway(directory, options.version ?? 18) : undefined;
  const url = options.url ?? embedded?.url ?? "";
  // Several test runs may use the same server, even from one process.
  const template = `jobforge_template_${process.pid}_${randomBytes(4).toString("hex")}`;
  const stop = async (): Promise<void> => {
    await runOn(url, `drop database if exists ${template} with (force)`);
    if (embedded !== undefined) {
      await closeMaintenance(url);
      await embedded.stop();
    }
    await rm(directory, { recursive: true, force: true });
  };
  try {
    await prepareTemplate(url, template, options.prepare);
  } catch (error) {
    await stop();
    throw error;
  }
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
  const { startEmbedded } = await loadEmbedded();
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

async function prepareTemplate(
  url: string,
  template: string,
  prepare: TestServerOptions["prepare"],
): Promise<void> {
  await runOn(url, `create database ${template}`);
  const templateUrl = databaseUrl(url, template);
  const client = new pg.Client({ connectionString: templateUrl });
  await client.connect();
  try {
    await migrate({ database: client });
    await client.query("select jobforge.allow_time_travel(true)");
    await prepare?.(client, templateUrl);
  } finally {
    await client.end();
  }
  if (prepare !== undefined) await waitUntilUnused(url, template);
}

/** How long connections that `prepare` has closed may take to disappear from the server. */
const closingMs = 5_000;

/** Postgres refuses to copy a database that has connections. Its error would not say that `prepare` opened them. */
async function waitUntilUnused(url: string, template: string): Promise<void> {
  const open = async (): Promise<number> => {
    const { rows } = await maintenanceOf(url).query<{ open: number }>(
      "select count(*)::int as open from pg_stat_activity where datname = $1 and backend_type = 'client backend'",
      [template],
    );
    return rows[0]?.open ?? 0;
  };
  const deadline = Date.now() + closingMs;
  let left = await open();
  for (; left > 0 && Date.now() < deadline; left = await open()) await delay(20);
  if (left > 0)
    throw new Error(
      `prepare() left ${left} connection${left === 1 ? "" : "s"} to the template open, so it cannot be copied. ` +
        "Close them before prepare() resolves, for example with await pool.end().",
    );
}

/** One idle connection per server, because a login costs as much as a clone. It does not keep the process alive. */
const maintenance: Map<string, pg.Pool> = new Map();

/** Runs one statement on the maintenance database. */
export async function runOn(url: string, sql: string): Promise<void> {
  await maintenanceOf(url).query(sql);
}

function maintenanceOf(url: string): pg.Pool {
  let pool = maintenance.get(url);
  if (pool === undefined) {
    pool = new pg.Pool({ connectionString: url, max: 2, allowExitOnIdle: true });
    // The server of a test run stops while connections are open; the next statement reports that.
    pool.on("error", () => undefined);
    maintenance.set(url, pool);
  }
  return pool;
}

/** A server that stops waits a moment for open sessions, so ours is closed first. */
async function closeMaintenance(url: string): Promise<void> {
  const pool = maintenance.get(url);
  maintenance.delete(url);
  await pool?.end();
}

/** The same server and login, another database. */
export function databaseUrl(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  return changed.href;
}
