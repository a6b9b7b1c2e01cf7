/**
 * The source of the transport's connections: its own pool, the application's pool, or one client of the application.
 */
import { ConnectionError } from "../../errors.ts";
import {
  isPool,
  type PgClient,
  type PgListenClient,
  type PgPool,
  type PgPoolClient,
  type PgPoolOptions,
  type PgQueryResult,
} from "./pg.ts";
import { Prepared } from "./prepared.ts";
import type { Statement } from "./statement.ts";

/** Whether a connection keeps its session, or a pooler shares sessions between connections. */
export type PoolMode = "session" | "transaction";

export interface Lent {
  readonly client: PgClient;
  run(statement: Statement): Promise<PgQueryResult>;
  /** Gives the connection back. A connection that may be broken is not used again. */
  release(broken: boolean): void;
  /** Gives the connection back while a statement runs on it. No other call gets it before the statement has ended. */
  abandon(running: Promise<unknown>): void;
}

export interface Connections {
  lend(): Promise<Lent>;
  /** Creates a new client with the same settings, not yet connected. Undefined if that is not possible. */
  readonly another: (() => Promise<PgListenClient>) | undefined;
  /** The maximum number of connections that are lent at once; undefined if it is not known. */
  readonly most: number | undefined;
  close(): Promise<void>;
}

/**
 * Connections of a pool that the first call creates. The pool does not keep an otherwise idle process alive. Statements
 * are prepared on those connections that allow it, unless `mode` says that sessions are shared.
 */
export function ownPool(url: string, options: PgPoolOptions, mode: PoolMode): Connections {
  const prepared = mode === "session" ? new Prepared() : undefined;
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
      const made = new pg.Pool({ ...config, Client: closingClient(pg.Client) });
      // The pool replaces a connection that is lost while idle, and the next call notices nothing.
      made.on("error", () => undefined);
      return made;
    });
    return opened;
  };
  let closed = false;
  return {
    lend: async () => {
      if (closed) throw new ConnectionError("This JobForge was closed", { retryable: false });
      return await lendFrom(await pool(), prepared);
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

type ClientOfPg = typeof import("pg").default.Client;
type Connected = (error: Error | null) => void;

/**
 * A client that closes its connection if the login fails. `pg` leaves the connection open when the URL has no password,
 * and the program could not exit before the server gives up after a minute.
 */
function closingClient(Client: ClientOfPg): ClientOfPg {
  return class extends Client {
    override connect(): Promise<InstanceType<ClientOfPg>>;
    override connect(callback: Connected): void;
    override connect(callback?: Connected): Promise<InstanceType<ClientOfPg>> | undefined {
      if (callback === undefined) return super.connect();
      super.connect((error: Error | null) => {
        if (error) this.end().catch(() => undefined);
        callback(error);
      });
      return undefined;
    }
  };
}

/** The default of `pg.Pool`. */
const defaultMost = 10;

function mostOf({ max }: PgPoolOptions): number | undefined {
  return typeof max === "number" && max > 0 ? max : undefined;
}

/** Connections of the application's pool, which `close` leaves open. */
export function foreignPool(pool: PgPool): Connections {
  return {
    lend: () => lendFrom(pool),
    another: listenClientOf(pool),
    most: mostOf((pool as { options?: PgPoolOptions }).options ?? {}),
    close: async () => undefined,
  };
}

/**
 * Takes a connection from a pool and tolerates its loss: without a listener, a connection that is lost between two
 * statements would end the process. It uses a callback, because a server that ends a session can send that in the same
 * packet as its ready message, and a promise resolves only after both were read.
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

async function lendFrom(pool: PgPool, prepared?: Prepared): Promise<Lent> {
  const client = await connectedTo(pool);
  const release = (destroy: boolean): void => {
    // A destroyed connection may still emit errors.
    if (!destroy) client.removeListener("error", ignore);
    client.release(destroy);
  };
  const run = (statement: Statement): Promise<PgQueryResult> =>
    prepared === undefined ? plainly(client, statement) : prepared.run(client, statement);
  return { client, run, release, abandon: () => release(true) };
}

function plainly(client: PgClient, { text, values }: Statement): Promise<PgQueryResult> {
  return client.query(text, [...values]);
}

function ignore(): void {}

type ClientClass = new (options: unknown) => PgListenClient;

/** Pools of `pg` have the class and the settings of their clients as properties. */
function listenClientOf(pool: PgPool): (() => Promise<PgListenClient>) | undefined {
  const { Client, options } = pool as { Client?: ClientClass; options?: unknown };
  return typeof Client === "function" && typeof options === "object"
    ? async () => new Client(options)
    : undefined;
}

/** One connection of the application. Calls use it one after the other. */
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
      return {
        client,
        run: (statement) => plainly(client, statement),
        release: () => done(),
        abandon: (running) => void running.then(done, done),
      };
    },
    another: undefined,
    most: 1,
    close: async () => undefined,
  };
}

export function connectionsOf(
  database: string | PgPool | PgClient,
  pool: PgPoolOptions,
  mode: PoolMode,
): Connections {
  if (typeof database === "string") return ownPool(database, pool, mode);
  return isPool(database) ? foreignPool(database) : singleConnection(database);
}
