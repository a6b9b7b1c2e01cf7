/** The libraries whose transactions JobForge supports, each with a table of orders. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { PrismaPg } from "@prisma/adapter-pg";
import type { getPrismaClient } from "@prisma/client/runtime/client";
import { drizzle } from "drizzle-orm/node-postgres";
import { integer, pgTable } from "drizzle-orm/pg-core";
import createKnex, { type Knex } from "knex";
import { Kysely, PostgresDialect } from "kysely";
import pg from "pg";
import { afterAll } from "vitest";
import type { Transaction } from "../../src/index.ts";

export interface Library extends AsyncDisposable {
  /** Runs work in a transaction of the library. `order` writes a row in it with the library's own API. */
  transact<T>(work: (tx: Transaction, order: (id: number) => Promise<unknown>) => Promise<T>): Promise<T>;
  /** Objects of the library that are not transactions. */
  readonly wholes: readonly unknown[];
}

export type OpenLibrary = (url: string) => Promise<Library>;

function quietPool(url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  pool.on("error", () => undefined);
  return pool;
}

const openPg: OpenLibrary = async (url) => {
  const pool = quietPool(url);
  return {
    transact: async (work) => {
      const client = await pool.connect();
      try {
        await client.query("begin");
        const result = await work(client, (id) => client.query("insert into orders values ($1)", [id]));
        await client.query("commit");
        return result;
      } catch (error) {
        await client.query("rollback");
        throw error;
      } finally {
        client.release();
      }
    },
    wholes: [pool],
    [Symbol.asyncDispose]: () => pool.end(),
  };
};

const orders = pgTable("orders", { id: integer() });

const openDrizzle: OpenLibrary = async (url) => {
  const pool = quietPool(url);
  const db = drizzle(pool, { casing: "snake_case" });
  return {
    transact: (work) => db.transaction((tx) => work(tx, (id) => tx.insert(orders).values({ id }))),
    wholes: [db],
    [Symbol.asyncDispose]: () => pool.end(),
  };
};

const openKysely: OpenLibrary = async (url) => {
  const db = new Kysely<{ orders: { id: number } }>({
    dialect: new PostgresDialect({ pool: quietPool(url) }),
  });
  return {
    transact: (work) =>
      db.transaction().execute((tx) => work(tx, (id) => tx.insertInto("orders").values({ id }).execute())),
    wholes: [db],
    [Symbol.asyncDispose]: () => db.destroy(),
  };
};

const openKnex: OpenLibrary = async (url) => {
  const knex: Knex = createKnex({ client: "pg", connection: url, pool: { min: 0, max: 2 } });
  return {
    transact: (work) => knex.transaction((tx) => work(tx, (id) => tx("orders").insert({ id }))),
    wholes: [knex],
    [Symbol.asyncDispose]: () => knex.destroy(),
  };
};

type PrismaClient = InstanceType<ReturnType<typeof getPrismaClient>>;
let generated: Promise<new (options: object) => PrismaClient> | undefined;

const openPrisma: OpenLibrary = async (url) => {
  generated ??= generatePrisma();
  const Client = await generated;
  const prisma = new Client({ adapter: new PrismaPg({ connectionString: url, max: 2 }) });
  return {
    transact: (work) =>
      prisma.$transaction((tx: PrismaClient) =>
        work(tx, async (id) => await tx.$executeRawUnsafe("insert into orders values ($1)", id)),
      ),
    wholes: [prisma],
    [Symbol.asyncDispose]: () => prisma.$disconnect(),
  };
};

/** Removed only at the end, because a client loads parts of itself while it is used. */
const directories: string[] = [];
afterAll(() => Promise.all(directories.map((directory) => rm(directory, { recursive: true }))));

/** Generates a client for a minimal schema. It needs no engine, so none is downloaded. */
async function generatePrisma(): Promise<new (options: object) => PrismaClient> {
  const directory = await mkdtemp(join(tmpdir(), "jobforge-prisma-"));
  directories.push(directory);
  const modules = fileURLToPath(new URL("../../../../node_modules", import.meta.url));
  await symlink(modules, join(directory, "node_modules"), "junction");
  const schema = join(directory, "schema.prisma");
  await writeFile(
    schema,
    `generator client {\n  provider = "prisma-client-js"\n  output = "./client"\n}\n` +
      `datasource db {\n  provider = "postgresql"\n}\n` +
      `model orders {\n  id Int @id\n}\n`,
  );
  await promisify(execFile)(
    process.execPath,
    [join(modules, "prisma/build/index.js"), "generate", "--schema", schema],
    {
      env: { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: "1" },
    },
  );
  const { PrismaClient } = createRequire(import.meta.url)(join(directory, "client/index.js"));
  return PrismaClient;
}

export const libraries: Readonly<Record<string, OpenLibrary>> = {
  pg: openPg,
  Drizzle: openDrizzle,
  Kysely: openKysely,
  Knex: openKnex,
  Prisma: openPrisma,
};
