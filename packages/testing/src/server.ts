/**
 * One Postgres for a whole test run, with a migrated database as the template of every test's own. Time travel is
 * allowed in it, so nothing sleeps to test a backoff.
 */
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmbedded } from "@jobforge/embedded";
import { migrate } from "@jobforge/sql";
import pg from "pg";

/** How tests find the server: plain data, so that a runner can hand it to its workers. */
export interface TestServerAddress {
  /** A superuser's URL of the maintenance database. */
  readonly url: string;
  /** The database that tests clone. */
  readonly template: string;
}

export interface TestServer extends TestServerAddress, AsyncDisposable {
  stop(): Promise<void>;
}

export interface TestServerOptions {
  /** Major version of the embedded server. */
  readonly version?: 18 | 15;
  /** Use this server instead of an embedded one. Its role must be a superuser. */
  readonly url?: string;
}

/** Starts a server for a test run, or uses the one given, and prepares the template. */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const directory = join(tmpdir(), `jobforge-test-${process.pid}-${Date.now()}`);
  const embedded =
    options.url === undefined ? await startThrowaway(directory, options.version ?? 18) : undefined;
  const url = options.url ?? embedded?.url ?? "";
  const template = `jobforge_template_${process.pid}`;
  await prepareTemplate(url, template);
  const stop = async (): Promise<void> => {
    await runOn(url, `drop database if exists ${template} with (force)`);
    await embedded?.stop();
    await rm(directory, { recursive: true, force: true });
  };
  return { url, template, stop, [Symbol.asyncDispose]: stop };
}

/** Durability is switched off: nothing of a test run outlives it. */
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
      max_wal_size: "4GB",
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

/** Runs one statement on the maintenance database. */
export async function runOn(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/** The same server and login, another database. */
export function databaseUrl(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  return changed.href;
}
