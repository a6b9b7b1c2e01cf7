/** Where the transport gets its connections from: a pool, its own or the application's, or one client. */
import { ConnectionError } from "../../errors.ts";
import {
  isPool,
  type PgClient,
  type PgListenClient,
  type PgPool,
  type PgPoolClient,
  type PgPoolOptions,
} from "./pg.ts";

export interface Lent {
  readonly client: PgClient;
  /** Gives the connection back; one that may be broken is not used again. */
  release(broken: boolean): void;
  /** Gives it back although a statement is under way on it, so it serves nobody else before that has ended. */
  abandon(running: Promise<unknown>): void;
}

export interface Connections {
  lend(): Promise<Lent>;
  /** A new connection with the same settings, not yet connected; undefined where that is not possible. */
  readonly another: (() => Promise<PgListenClient>) | undefined;
  /** How many it lends at once; undefined where that is not known. */
  readonly most: number | undefined;
  close(): Promise<void>;
}

/** Connections of a pool that is made with the first call. It does not keep a process alive that has nothing else to do. */
export function ownPool(url: string, options: PgPoolOptions): Connections {
  let opened: Promise<PgPool> | undefined;
  const config = {
    connectionString: url,
    application_name: "jobforge",
    allowExitOnIdle: true,
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    ...options,
  };
  const pool = (): Promise<PgPool> => {
    opened ??= import("pg").then(({ default: pg }) => {
      const made = new pg.Pool(config);
      // A connection that dies in the pool is replaced; whoever calls next notices nothing.
      made.on("error", () => undefined);
      return made;
    });
    return opened;
  };
  let closed = false;
  return {
    lend: async () => {
      if (closed) throw new ConnectionError("This JobForge was closed", { retryable: false });
      return await lendFrom(await pool());
    },
    another: async () => {
      const { default: pg } = await import("pg");
      return new pg.Client(config);
    },
    most: mostOf(options) ?? defaultMost,
    close: async () => {
      closed = true;
      if (opened !== undefined) await (await opened).end();
      opened = undefined;
    },
  };
}

/** What `pg.Pool` uses when it is told nothing. */
const defaultMost = 10;

function mostOf({ max }: PgPoolOptions): number | undefined {
  return typeof max === "number" && max > 0 ? max : undefined;
}

/** Connections of the application's pool, which stays open. */
export function foreignPool(pool: PgPool): Connections {
  return {
    lend: () => lendFrom(pool),
    another: listenClientOf(pool),
    most: mostOf((pool as { options?: PgPoolOptions }).options ?? {}),
    close: async () => undefined,
  };
}

/**
 * A connection of a pool, whose loss is borne: without a listener one that is lost between two statements would end the process. By a callback, because a
 * server that ends a session says so in the same packet as that it is ready, and a promise tells us only after both were read.
 */
function connectedTo(pool: PgPool): Promise<PgPoolClient> {
  return new Promise((resolve, reject) => {
    pool.connect((error, client) => {
      if (client === undefined) {
        reject(error);
        return;
      }
      client.on("error", ignore);
      resolve(client);
    });
  });
}

async function lendFrom(pool: PgPool): Promise<Lent> {
  const client = await connectedTo(pool);
  const release = (destroy: boolean): void => {
    // One that is thrown away may still complain.
    if (!destroy) client.removeListener("error", ignore);
    client.release(destroy);
  };
  return { client, release, abandon: () => release(true) };
}

function ignore(): void {}

type ClientClass = new (options: unknown) => PgListenClient;

/** Pools of `pg` keep the class and the settings of their clients. */
function listenClientOf(pool: PgPool): (() => Promise<PgListenClient>) | undefined {
  const { Client, options } = pool as { Client?: ClientClass; options?: unknown };
  return typeof Client === "function" && typeof options === "object"
    ? async () => new Client(options)
    : undefined;
}

/** One connection of the application, used by one call after the other. */
export function singleConnection(client: PgClient): Connections {
  let last: Promise<void> = Promise.resolve();
  return {
    lend: async () => {
      const before = last;
      let done: () => void = () => undefined;
      last = new Promise((resolve) => {
        done = resolve;
      });
      await before;
      return { client, release: () => done(), abandon: (running) => void running.then(done, done) };
    },
    another: undefined,
    most: 1,
    close: async () => undefined,
  };
}

export function connectionsOf(database: string | PgPool | PgClient, pool: PgPoolOptions): Connections {
  if (typeof database === "string") return ownPool(database, pool);
  return isPool(database) ? foreignPool(database) : singleConnection(database);
}
