/** Where a contestant keeps its jobs during a measurement, and what can be counted there. */
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { BenchDatabase } from "../server.ts";
import type { Counters } from "./costs.ts";
import { cpuSeconds } from "./cpu.ts";
import { ContestantError, Unsupported } from "./protocol.ts";
import type { RedisServer } from "./redis.ts";

export interface Store extends AsyncDisposable {
  /** How the contestant's processes find it. */
  readonly env: Readonly<Record<string, string>>;
  counters(): Promise<Counters>;
  /** Waits until nobody but the driver is connected: a backend hands in its counters when it ends. */
  quiet(): Promise<void>;
  /** Vacuums and analyzes what was enqueued, as autovacuum does a minute later: nobody plans for the empty table of before. */
  tidy(): Promise<void>;
  /** Leaves a transaction open that still sees every row that dies from now on. */
  pin(): Promise<void>;
}

const driver = "jobforge benchmark";

/** A database of its own, made for this store and dropped with it. */
export async function postgresStore(database: BenchDatabase, server: number | undefined): Promise<Store> {
  const open: pg.Client[] = [];
  const connect = async (): Promise<pg.Client> => {
    const client = new pg.Client({ connectionString: database.url, application_name: driver });
    await client.connect();
    open.push(client);
    return client;
  };
  const client = await connect();
  // Everybody starts right behind a checkpoint, so that nobody pays for another's pages. It takes a right that we may lack.
  await client.query("checkpoint").catch(() => undefined);
  return {
    env: { DATABASE_URL: database.url },
    counters: async () => ({ ...(await count(client)), ...cpuOf(server) }),
    quiet: async () => {
      for (let looks = 0; (await others(client)) > 0; looks += 1) {
        if (looks > 3000) throw new ContestantError("its connections are still open after half a minute");
        await sleep(10);
      }
    },
    tidy: async () => {
      await client.query("vacuum analyze");
      await client.query("checkpoint").catch(() => undefined);
    },
    pin: async () => {
      const pinning = await connect();
      await pinning.query("begin isolation level repeatable read");
      await pinning.query("select count(*) from pg_class");
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(open.map((each) => each.end()));
      await database[Symbol.asyncDispose]();
    },
  };
}

/** Redis has one database for all; it is emptied before each measurement. */
export async function redisStore(redis: RedisServer): Promise<Store> {
  await redis.empty();
  return {
    env: { REDIS_URL: redis.url },
    counters: async () => cpuOf(redis.pid),
    quiet: async () => undefined,
    tidy: async () => undefined,
    pin: async () => {
      throw new Unsupported("Redis has no transactions that keep old rows alive");
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
}

function cpuOf(server: number | undefined): Counters {
  const seconds = server === undefined ? undefined : cpuSeconds([server]);
  return seconds === undefined ? {} : { serverCpuSeconds: seconds };
}

async function others(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ n: number }>(
    `select count(*)::int as n
     from pg_stat_activity
     where datname = current_database() and backend_type = 'client backend' and application_name <> $1`,
    [driver],
  );
  return rows[0]?.n ?? 0;
}

async function count(client: pg.Client): Promise<Counters> {
  await client.query("select pg_stat_force_next_flush()");
  const { rows } = await client.query<Record<string, string>>(
    `select pg_current_wal_insert_lsn() - '0/0' as "walBytes",
       (select xact_commit from pg_stat_database where datname = current_database()) as "commits",
       (select coalesce(sum(n_tup_upd + n_tup_del), 0) from pg_stat_user_tables) as "deadRows",
       coalesce(sum(pg_table_size(c.oid)), 0) as "tableBytes",
       coalesce(sum(pg_indexes_size(c.oid)), 0) as "indexBytes"
     from pg_class c
     join pg_namespace n on n.oid = c.relnamespace
     where c.relkind = 'r'
       and n.nspname not in ('pg_catalog', 'information_schema')`,
  );
  return Object.fromEntries(Object.entries(rows[0] ?? {}).map(([name, value]) => [name, Number(value)]));
}
