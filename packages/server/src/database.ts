/**
 * Runs every request as one transaction with the role and claims of the caller. Both are set for this transaction
 * only. So the database decides what the caller may see and do, and no state stays on the connection for the next
 * request.
 */
import type { Duplex } from "node:stream";
import type { ClientRole } from "@jobforge/sdk-ts";
import pg from "pg";
import { isReadTimeout, RequestError } from "./errors.ts";
import { FairQueue } from "./fair-queue.ts";
import { identityOf } from "./identity.ts";
import type { Settings } from "./options.ts";

/** The authenticated caller. */
export interface Caller {
  readonly role: ClientRole;
  readonly tenantId: string | undefined;
  readonly claims: Readonly<Record<string, unknown>>;
  readonly holder: Holder;
}

/** Who holds the token of a caller, for people to read. */
export interface Holder {
  /** `local`: the developer of this machine. */
  readonly kind: "jwt" | "key" | "local";
  /** The name of a key; the e-mail or subject of a JWT. */
  readonly name: string | null;
  readonly expiresAt: string | null;
}

/** What the kernel knows about a key. */
interface RecognisedKey {
  readonly id: string;
  readonly name: string;
  readonly role: ClientRole;
  readonly tenant_id: string | null;
  readonly expires_at: string | null;
}

/** How a request proves who is calling: verified claims, or the digest of a key, which the database looks up. */
export type Credential =
  | { readonly kind: "claims"; readonly caller: Caller }
  | { readonly kind: "key"; readonly digest: string };

/** One transaction of one caller. */
export interface Session {
  readonly caller: Caller;
  query<T extends pg.QueryResultRow>(text: string, values?: readonly unknown[]): Promise<T[]>;
}

/**
 * Pins settings for the transaction. The search path has the system's schema only, so that no object of another role
 * is used in place of a function, an operator or a type of the system. The others fix how times and intervals are
 * written. The role of the login may have set all of them.
 */
const pinned = Object.entries({
  search_path: "pg_catalog, pg_temp",
  timezone: "UTC",
  datestyle: "ISO, MDY",
  intervalstyle: "postgres",
  standard_conforming_strings: "on",
})
  .map(([name, value]) => `pg_catalog.set_config('${name}', '${value}', true)`)
  .join(", ");

/** How long after its time limit a statement is abandoned. Normally the database itself ends it at the limit. */
const graceMs = 1000;

/** The server's own queries take turns with callers as one more caller. They may take the last free connections. */
const ownIdentity = "server";

/** Who waits for a connection. */
export interface Waiting {
  /** Connections are shared fairly between these. Default: the identity of the credential. */
  readonly identity?: string | undefined;
  /** Groups of callers, such as tenants, share the connections fairly, too. Default: a group for the identity. */
  readonly group?: string | undefined;
  /** A request that is aborted while it waits gets no connection. */
  readonly signal?: AbortSignal | undefined;
}

export class Database {
  readonly #pool: pg.Pool;
  /** Has a place for each connection of the pool, so that nothing waits in the pool's own queue. */
  readonly #queue: FairQueue;
  readonly #settings: Settings;

  constructor(settings: Settings) {
    this.#settings = settings;
    this.#queue = new FairQueue({
      size: settings.poolSize,
      perCaller: settings.connectionsPerCaller,
      maxWaiting: settings.waitingPerCaller,
      timeoutMs: settings.timeoutMs,
    });
    this.#pool = new pg.Pool({
      connectionString: settings.database,
      application_name: "jobforge-server",
      max: settings.poolSize,
      connectionTimeoutMillis: settings.timeoutMs,
      // A database that hangs does not enforce its own time limit.
      query_timeout: settings.timeoutMs === 0 ? 0 : settings.timeoutMs + graceMs,
      keepAlive: true,
      // The statements that open a transaction are sent together with the first statement of the request.
      pipeline: true,
    } as pg.PoolConfig);
    // The pool replaces a connection that fails while it is idle. The next caller does not notice.
    this.#pool.on("error", () => undefined);
    // Without a listener, losing a connection between two statements would end the process. The listener is added at
    // once, because Postgres may report the end of a session in the same packet in which it reports to be ready.
    this.#pool.on("connect", (client) => {
      client.on("error", () => undefined);
      containErrors(client);
    });
  }

  get connections(): { readonly total: number; readonly idle: number; readonly waiting: number } {
    const { totalCount: total, idleCount: idle, waitingCount } = this.#pool;
    return { total, idle, waiting: waitingCount + this.#queue.waiting };
  }

  /** Runs work as the caller, in one transaction. Commits if the work succeeds. Waits for the caller's turn. */
  async as<T>(
    credential: Credential,
    work: (session: Session) => Promise<T>,
    { identity = identityOf(credential), group = identity, signal }: Waiting = {},
  ): Promise<T> {
    return await this.#queue.run(identity, () => this.#run(credential, work), { group, signal });
  }

  async #run<T>(credential: Credential, work: (session: Session) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect();
    let broken = true;
    try {
      const result = await this.#transact(client, credential, work);
      broken = false;
      return result;
    } catch (error) {
      // A connection that hangs cannot be rolled back.
      broken = isReadTimeout(error) || !(await rollback(client));
      throw error;
    } finally {
      client.release(broken);
    }
  }

  async #transact<T>(
    client: pg.PoolClient,
    credential: Credential,
    work: (session: Session) => Promise<T>,
  ): Promise<T> {
    const opened = quietly(client.query("begin"));
    const caller =
      credential.kind === "key"
        ? await this.#recognise(client, credential.digest, opened)
        : credential.caller;
    const entered = quietly(this.#enter(client, caller.role, caller.claims));
    const query = async <R extends pg.QueryResultRow>(
      text: string,
      values: readonly unknown[] = [],
    ): Promise<R[]> => (await client.query<R>(text, [...values])).rows;
    const worked = quietly(work({ caller, query }));
    // The first statement that failed explains the error. Later statements only report that the transaction has failed.
    await opened;
    await entered;
    const result = await worked;
    await client.query("commit");
    return result;
  }

  #enter(client: pg.PoolClient, role: string, claims: object): Promise<unknown> {
    return client.query(
      `select ${pinned}, pg_catalog.set_config('role', $1, true), pg_catalog.set_config('request.jwt.claims', $2, true),
         pg_catalog.set_config('statement_timeout', $3, true),
         pg_catalog.set_config('idle_in_transaction_session_timeout', $3, true)`,
      [role, JSON.stringify(claims), String(this.#settings.timeoutMs)],
    );
  }

  /** Looks up the owner of a key in this transaction, so a revoked key is refused at once. */
  async #recognise(client: pg.PoolClient, digest: string, opened: Promise<unknown>): Promise<Caller> {
    const entered = quietly(this.#enter(client, "jobforge_reader", {}));
    const schema = pg.escapeIdentifier(this.#settings.apiSchema);
    const recognised = quietly(
      client.query<{ found: RecognisedKey | null }>(
        `select ${schema}.jobforge_recognise_token($1::pg_catalog.text) as found`,
        [digest],
      ),
    );
    await opened;
    await entered;
    const found = (await recognised).rows[0]?.found;
    if (!found) throw unauthorized("The key is unknown, revoked or expired");
    const tenantId = found.tenant_id ?? undefined;
    return {
      role: found.role,
      tenantId,
      claims: { role: found.role, sub: found.id, ...(tenantId === undefined ? {} : { tenant_id: tenantId }) },
      holder: { kind: "key", name: found.name, expiresAt: found.expires_at },
    };
  }

  /**
   * Runs a query on the catalog, with no caller's role, in a transaction of its own. A connection that has not returned
   * after `limitMs` is abandoned.
   */
  async query<T extends pg.QueryResultRow>(
    text: string,
    values: readonly unknown[] = [],
    limitMs?: number,
  ): Promise<T[]> {
    return await this.#queue.run(ownIdentity, () => this.#read<T>(text, values, limitMs));
  }

  /** Runs one statement in a transaction of its own, which pins the settings. */
  async #read<T extends pg.QueryResultRow>(
    text: string,
    values: readonly unknown[],
    limitMs: number | undefined,
  ): Promise<T[]> {
    const limit = limitMs === undefined ? {} : { query_timeout: limitMs };
    const client = await this.#pool.connect();
    let broken = true;
    try {
      const opened = quietly(client.query({ text: "begin", ...limit }));
      const entered = quietly(client.query({ text: `select ${pinned}`, ...limit }));
      const queried = quietly(client.query<T>({ text, values: [...values], ...limit }));
      await opened;
      await entered;
      const { rows } = await queried;
      await client.query({ text: "commit", ...limit });
      broken = false;
      return rows;
    } finally {
      client.release(broken);
    }
  }

  /** Closes the connections, after the queries in progress. */
  async close(): Promise<void> {
    await this.#pool.end();
  }
}

export function unauthorized(message: string): RequestError {
  return new RequestError(401, "PGRST301", message, {
    name: "unauthorized",
    hint: "Send a token as `Authorization: Bearer …`.",
    headers: { "www-authenticate": "Bearer" },
  });
}

/**
 * Makes an error while the driver reads a reply end the connection, not the process. The driver reads replies in a
 * listener of its socket, so an error there has no other handler. A text that is longer than JavaScript allows causes
 * one.
 */
function containErrors(client: pg.PoolClient): void {
  const { stream } = (client as unknown as { readonly connection: { readonly stream: Duplex } }).connection;
  const emit = stream.emit.bind(stream) as (event: string | symbol, ...args: unknown[]) => boolean;
  stream.emit = (event: string | symbol, ...args: unknown[]): boolean => {
    try {
      return emit(event, ...args);
    } catch (error) {
      if (event !== "data") throw error;
      stream.destroy(error instanceof Error ? error : new Error(String(error)));
      return true;
    }
  };
}

/** Marks the rejection of a promise as handled, because the promise is awaited later. */
function quietly<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

async function rollback(client: pg.PoolClient): Promise<boolean> {
  try {
    await client.query("rollback");
    return true;
  } catch {
    return false;
  }
}
