/** A Postgres for one test file, with JobForge installed, which tests may stop and start again. */
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type EmbeddedPostgres, startEmbedded } from "@jobforge/embedded";
import type { JobForge } from "@jobforge/sdk-ts";
import { migrate } from "@jobforge/sql";
import { cloneDatabase, type TestDatabase } from "@jobforge/testing";
import { test as base, useForge } from "./work.ts";

export interface OwnServer {
  readonly url: string;
  stop(): Promise<void>;
  /** Starts the server again, with the same data and port. Does nothing while it runs. */
  start(): Promise<void>;
}

const template = "jobforge_template";

async function startServer(): Promise<OwnServer & { remove(): Promise<void> }> {
  const directory = join(tmpdir(), `jobforge-worker-${process.pid}-${Date.now()}`);
  const version = process.env["JOBFORGE_TEST_POSTGRES"] === "15" ? 15 : 18;
  const settings = { fsync: "off", synchronous_commit: "off", full_page_writes: "off" };
  let server: EmbeddedPostgres | undefined = await startEmbedded({ directory, version, settings });
  const { url, port } = server;
  const stop = async (): Promise<void> => {
    // As an administrator stops it, while sessions are open.
    await server?.stop({ leavingMs: 0 });
    server = undefined;
  };
  return {
    url,
    stop,
    start: async () => {
      server ??= await startEmbedded({ directory, version, settings, port });
    },
    remove: async () => {
      await stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** The suite's `test` with a server for the file, a database on it, and a client of that database. */
export const test = base.extend<{ server: OwnServer; ownDb: TestDatabase; ownForge: JobForge }>({
  server: [
    // biome-ignore lint/correctness/noEmptyPattern: vitest reads the fixtures a test needs from this pattern
    async ({}, use) => {
      const server = await startServer();
      try {
        const admin = await cloneDatabase({ url: server.url, template: "template0" });
        await admin.query(`create database ${template}`);
        await admin.drop();
        const url = new URL(server.url);
        url.pathname = `/${template}`;
        await migrate({ database: url.href });
        await use(server);
      } finally {
        await server.remove();
      }
    },
    { scope: "file" },
  ],
  ownDb: async ({ server }, use) => {
    await using db = await cloneDatabase({ url: server.url, template });
    await use(db);
    await server.start();
  },
  ownForge: ({ ownDb }, use) => useForge(ownDb.url, use),
});
