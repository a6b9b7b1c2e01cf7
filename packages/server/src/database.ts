/**
 * Every request is one transaction that acts as the caller: its role and claims are set for the transaction alone, so that the
 * database decides what the caller may see and do, and nothing is left on the connection for whoever gets it next.
 */
import pg from "pg";
import { isReadTimeout, RequestError } from "./errors.ts";
import type { ClientRole, Settings } from "./options.ts";

/** Who is calling, once that is known. */
export interface Caller {
  readonly role: ClientRole;
  readonly tenantId: string | undefined;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** How a request proves who is calling: claims that were verified, or the digest of a key that the database knows. */
export type Credential =
  | { readonly kind: "claims"; readonly caller: Caller }
  | { readonly kind: "key"; readonly digest: string };

/** One transaction of one caller. */
export interface Session {
  readonly caller: Caller;
  query<T extends pg.QueryResultRow>(text: string, values?: readonly unknown[]): Promise<T[]>;
}

/** How long after its limit a statement is given up that the database itself should have ended. */
const GRACE_MS = 1000;

export class Database {
  readonly #pool: pg.Pool;
  readonly #settings: Settings;

  constructor(settings: Settings) {
    this.#settings = settings;
    this.#pool = new pg.Pool({
      connectionString: settings.database,
      application_name: "jobforge-server",
      max: settings.poolSize,
      connectionTimeoutMillis: settings.timeoutMs,
      // A database that hangs does not keep its own limit.
      query_timeout: settings.timeoutMs === 0 ? 0 : settings.timeoutMs + GRACE_MS,
      keepAlive: true,
      // The statements that open a transaction go out with the first one of the request.
      pipeline: true,
    } as pg.PoolConfig);
    // A connection that dies in the pool is replaced; whoever calls next notices nothing.
    this.#pool.on("error", () => undefined);
    // Without a listener the loss of one between two statements would end the process. From the first moment on: a server that ends a
    // session says so in the same packet as that it is ready.
    this.#pool.on("connect", (client) => client.on("error", () => undefined));
  }

  get connections(): { readonly total: number; readonly idle: number; readonly waiting: number } {
    const { totalCount: total, idleCount: idle, waitingCount: waiting } = this.#pool;
    return { total, idle, waiting };
  }

  /** Runs work as the caller. It is committed when the work ends well. */
  async as<T>(credential: Credential, work: (session: Session) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect();
    let broken = true;
    try {
      const answer = await this.#transact(client, credential, work);
      broken = false;
      return answer;
    } catch (error) {
      // To a connection that hangs nothing more is said.
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
    // The first that failed says why; what follows it in a failed transaction does not.
    await opened;
    await entered;
    const answer = await worked;
    await client.query("commit");
    return answer;
  }

  #enter(client: pg.PoolClient, role: string, claims: object): Promise<unknown> {
    return client.query(
      `select set_config('role', $1, true), set_config('request.jwt.claims', $2, true),
         set_config('statement_timeout', $3, true), set_config('idle_in_transaction_session_timeout', $3, true)`,
      [role, JSON.stringify(claims), String(this.#settings.timeoutMs)],
    );
  }

  /** Whose key it is. A key that was revoked a moment ago is refused already. */
  async #recognise(client: pg.PoolClient, digest: string, opened: Promise<unknown>): Promise<Caller> {
    const entered = quietly(this.#enter(client, "jobforge_reader", {}));
    const schema = pg.escapeIdentifier(this.#settings.apiSchema);
    const asked = quietly(
      client.query<{ found: { id: string; role: ClientRole; tenant_id: string | null } | null }>(
        `select ${schema}.jobforge_recognise_token($1) as found`,
        [digest],
      ),
    );
    await opened;
    await entered;
    const found = (await asked).rows[0]?.found;
    if (!found) throw unauthorized("The key is unknown, revoked or expired");
    const tenantId = found.tenant_id ?? undefined;
    return {
      role: found.role,
      tenantId,
      claims: { role: found.role, sub: found.id, ...(tenantId === undefined ? {} : { tenant_id: tenantId }) },
    };
  }

  /** A question about the catalog, which everybody may ask. `limitMs`: a connection that has not answered by then is given up. */
  async query<T extends pg.QueryResultRow>(
    text: string,
    values: readonly unknown[] = [],
    limitMs?: number,
  ): Promise<T[]> {
    const limit = limitMs === undefined ? {} : { query_timeout: limitMs };
    return (await this.#pool.query<T>({ text, values: [...values], ...limit })).rows;
  }

  /** Waits for what is under way. */
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

/** A promise whose failure is looked at later is not an unhandled one meanwhile. */
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
