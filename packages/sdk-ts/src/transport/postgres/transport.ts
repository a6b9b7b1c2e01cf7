/**
 * Calls over Postgres connections. Each call is one statement with parameters. It has a name only on a connection that
 * keeps its session, so it works behind every kind of pooler.
 */
import { withDeadline } from "../../deadline.ts";
import { ConnectionError, DatabaseError, InvalidArgumentError, type JobForgeError } from "../../errors.ts";
import { defaultTimeoutMs } from "../../words.ts";
import { fromDriverError } from "../error-mapping.ts";
import type { CallArguments, CallOptions, Transport } from "../transport.ts";
import { type Connections, connectionsOf, type Lent, type PoolMode } from "./connections.ts";
import { listen } from "./listen.ts";
import { isClient, type PgClient, type PgPool, type PgPoolOptions, type PgQueryResult } from "./pg.ts";
import { type Statement, type Statements, statements } from "./statement.ts";
import { checkDatabaseUrl } from "./url.ts";

export interface PostgresOptions {
  /**
   * A URL, a `pg.Pool`, or a connected `pg.Client`. The caller closes its own pool or client: `close` leaves it open.
   */
  readonly database: string | PgPool | PgClient;
  /** `transaction` for a pooler in transaction mode: there is no LISTEN then, and waiting uses polling only. */
  readonly poolMode?: PoolMode | undefined;
  /** Options of the `pg.Pool` that is created for a URL, such as `max` (10). */
  readonly pool?: PgPoolOptions | undefined;
  /** The API schema that was chosen at migration. Default `public`. */
  readonly schema?: string | undefined;
  /** How long a call may take, including the wait for a connection. Default 30 seconds. */
  readonly timeoutMs?: number | undefined;
  /** False leaves the setting `app.tenant_id` alone. Logins with `jobforge_app` must then set it themselves. */
  readonly nameTenant?: boolean | undefined;
}

/** Runs a statement with parameters and returns rows: a driver's connection, or a transaction of a library. */
export interface SqlExecutor {
  query(text: string, values: (string | null)[]): Promise<{ readonly rows: readonly unknown[] }>;
}

export function postgresTransport(options: PostgresOptions): Transport {
  const { database, poolMode = "session", timeoutMs = defaultTimeoutMs } = options;
  if (typeof database === "string") checkDatabaseUrl(database);
  else if (!isClient(database))
    throw new InvalidArgumentError("database must be a URL, a pg.Pool or a pg.Client", {
      field: "database",
      hint: "Pass a text such as postgres://user:password@host/database, or what `new pg.Pool()` returns.",
    });
  const connections = connectionsOf(database, options.pool ?? {}, poolMode);
  const written = statementsFor(options);
  const execute = <T>(
    statement: Statement,
    what: string,
    read: (result: Rows) => T,
    call: CallOptions = {},
  ): Promise<T> => executeOn(connections, statement, what, read, { timeoutMs, ...call });
  const { another } = connections;
  return {
    call: async <T>(name: string, args: CallArguments, call?: CallOptions) =>
      execute(written.call(name, args), name, resultIn<T>, call),
    listen:
      another === undefined || poolMode === "transaction"
        ? undefined
        : (channels, events) => listen(another, channels, events),
    transaction: (work) => inTransaction(connections, written, timeoutMs, work),
    maxConnections: connections.most,
    close: () => connections.close(),
  };
}

export function statementsFor(options: Pick<PostgresOptions, "schema" | "nameTenant">): Statements {
  return statements({ schema: options.schema ?? "public", nameTenant: options.nameTenant ?? true });
}

/**
 * Calls in a transaction that the caller begins and ends. Each is sent at once, so that it comes before a commit or
 * rollback that the caller sends next, also if the caller forgot to await the call. The driver runs them in order.
 */
export function transactionTransport(
  executor: SqlExecutor,
  written: Statements,
  limits: CallOptions = {},
): Transport {
  const execute = async <T>({ text, values }: Statement): Promise<T> =>
    resultIn<T>(await executor.query(text, [...values]).catch(failAsJobForge));
  return {
    call: async (name, args, call) =>
      withDeadline(name, { ...limits, ...call }, execute(written.call(name, args))),
    close: async () => undefined,
    isTransaction: true,
  };
}

function failAsJobForge(error: unknown): never {
  throw fromDriverError(error);
}

function executeOn<T>(
  connections: Connections,
  statement: Statement,
  what: string,
  read: (result: Rows) => T,
  options: CallOptions,
): Promise<T> {
  let abandoned = false;
  let abandon = (): void => {
    abandoned = true;
  };
  const work = async (): Promise<T> => {
    const lent = await connections.lend().catch(failAsJobForge);
    // The call has given up in the meantime.
    if (abandoned) {
      lent.release(false);
      throw new ConnectionError("given up");
    }
    const running = lent.run(statement);
    abandon = () => {
      abandoned = true;
      lent.abandon(running);
    };
    try {
      const result = await running;
      if (!abandoned) lent.release(false);
      return read(result);
    } catch (error) {
      const reason = fromDriverError(error);
      if (!abandoned) lent.release(isBroken(reason));
      throw reason;
    }
  };
  return withDeadline(what, options, work(), () => abandon());
}

type Rows = Pick<PgQueryResult, "rows">;

interface ResultRow {
  readonly result: string | null;
}

/** A document that comes in parts has several rows. */
function resultIn<T>({ rows }: Rows): T {
  const [first, ...more] = rows as readonly ResultRow[];
  return resultOf<T>(more.length === 0 ? first?.result : [first, ...more].map((row) => row?.result).join(""));
}

function resultOf<T>(text: string | null | undefined): T {
  // The result of a void function is an empty text.
  return (text ? JSON.parse(text) : null) as T;
}

/** Whether the connection itself is broken, as opposed to a statement that failed or took too long. */
function isBroken(error: JobForgeError): boolean {
  return error instanceof ConnectionError && error.code !== "57014";
}

async function inTransaction<T>(
  connections: Connections,
  written: Statements,
  timeoutMs: number,
  work: (client: unknown, transport: Transport) => Promise<T>,
): Promise<T> {
  const lent: Lent = await connections.lend().catch(failAsJobForge);
  const { client } = lent;
  try {
    await client.query("begin").catch(failAsJobForge);
    const result = await work(client, transactionTransport(client, written, { timeoutMs }));
    const ended = await client.query("commit").catch(failAsJobForge);
    if (ended.command === "ROLLBACK")
      throw new DatabaseError("The transaction was rolled back, because a statement in it had failed", {
        code: "25P02",
      });
    lent.release(false);
    return result;
  } catch (error) {
    // A busy or dead connection cannot run the rollback in time, and is dropped.
    const usable = await withDeadline("rollback", { timeoutMs: 5000 }, client.query("rollback")).then(
      () => true,
      () => false,
    );
    lent.release(!usable);
    throw error;
  }
}
