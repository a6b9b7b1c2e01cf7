/** The store of a contestant's jobs during a measurement, and the counters it has. */
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { BenchDatabase } from "../server.ts";
import type { Counters } from "./costs.ts";
import { cpuSeconds } from "./cpu.ts";
import { ContestantError, Unsupported } from "./protocol.ts";
import type { RedisServer } from "./redis.ts";

export interface Store extends AsyncDisposable {
  /** Environment variables with the address of the store, for the contestant's processes. */
  readonly env: Readonly<Record<string, string>>;
  counters(): Promise<Counters>;
  /** Waits until only the driver is connected, because a backend reports its counters when it exits. */
  quiet(): Promise<void>;
  /**
   * Vacuums and analyzes the enqueued jobs, as autovacuum does a minute later. Otherwise queries would be planned with
   * statistics of an empty table.
   */
  tidy(): Promise<void>;
  /** Opens a transaction and leaves it open. Its snapshot keeps every row that dies from now on. */
  pin(): Promise<void>;
}

/** The application name of the driver's connections. */
const driver = "jobforge benchmark";

/** A store in a database that is dropped together with the store. */
export async function postgresStore(database: BenchDatabase, server: number | undefined): Promise<Store> {
  const open: pg.Client[] = [];
  const connect = async (): Promise<pg.Client> => {
    const client = new pg.Client({ connectionString: database.url, application_name: driver });
    await client.connect();
    open.push(client);
    return client;
  };
  const client = await connect();
  // Each measurement starts right after a checkpoint, so that no contestant pays for writing pages of another. The role
  // may lack the permission for a checkpoint.
  await client.query("checkpoint").catch(() => undefined);
  return {
    env: { DATABASE_URL: database.url },
    counters: async () => ({ ...(await count(client)), ...cpuOf(server) }),
    quiet: async () => {
      for (let looks = 0; (await others(client)) > 0; looks += 1) {
        if (looks > 3000) throw new ContestantError("its connections were still open after half a minute");
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

/** All contestants on Redis share one database, which is emptied before each measurement. */
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
