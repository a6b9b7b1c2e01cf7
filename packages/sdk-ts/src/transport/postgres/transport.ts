/** Calls over Postgres connections: one unnamed, parameterised statement per call, so it works behind every kind of pooler. */
import { withDeadline } from "../../deadline.ts";
import { ConnectionError, DatabaseError, InvalidArgumentError, type JobForgeError } from "../../errors.ts";
import { defaultTimeoutMs } from "../../words.ts";
import { fromDriverError } from "../error-mapping.ts";
import type { CallOptions, Transport } from "../transport.ts";
import { type Connections, connectionsOf, type Lent } from "./connections.ts";
import { listen } from "./listen.ts";
import { isClient, type PgClient, type PgPool, type PgPoolOptions, type PgQueryResult } from "./pg.ts";
import { type Statement, type Statements, statements } from "./statement.ts";

export interface PostgresOptions {
  /** A URL, a `pg.Pool`, or a connected `pg.Client`. A pool or client stays the caller's: `close` leaves it open. */
  readonly database: string | PgPool | PgClient;
  /** `transaction` for a pooler in transaction mode: then there is no LISTEN, and waiting falls back to polling. */
  readonly poolMode?: "session" | "transaction" | undefined;
  /** Options of the `pg.Pool` that is made for a URL, such as `max` (10). */
  readonly pool?: PgPoolOptions | undefined;
  /** The API schema that was chosen when migrating. Default `public`. */
  readonly schema?: string | undefined;
  /** How long a call may take, waiting for a connection included. Default 30 seconds. */
  readonly timeoutMs?: number | undefined;
  /** False leaves the setting `app.tenant_id` alone; logins with `jobforge_app` then name their tenant themselves. */
  readonly nameTenant?: boolean | undefined;
}

/** Anything that runs a statement with parameters and answers rows: a driver's connection, or a transaction of a library. */
export interface SqlExecutor {
  query(text: string, values: (string | null)[]): Promise<{ readonly rows: readonly unknown[] }>;
}

export function postgresTransport(options: PostgresOptions): Transport {
  const { database, poolMode = "session", timeoutMs = defaultTimeoutMs } = options;
  if (typeof database === "string" ? database.trim() === "" : !isClient(database))
    throw new InvalidArgumentError("database must be a URL, a pg.Pool or a pg.Client", { field: "database" });
  const connections = connectionsOf(database, options.pool ?? {});
  const written = statementsFor(options);
  const execute = <T>(statement: Statement, what: string, call: CallOptions = {}): Promise<T> =>
    executeOn<T>(connections, statement, what, { timeoutMs, ...call });
  const { another } = connections;
  return {
    call: async (name, args, call) => execute(written.call(name, args), name, call),
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

/** Calls in a transaction that somebody else begins and ends. One after the other, as connections are. */
export function transactionTransport(
  executor: SqlExecutor,
  written: Statements,
  limits: CallOptions = {},
): Transport {
  let last: Promise<unknown> = Promise.resolve();
  const execute = <T>(statement: Statement, what: string, call: CallOptions = {}): Promise<T> => {
    const run = async (): Promise<T> =>
      answerIn<T>(await executor.query(statement.text, [...statement.values]).catch(failAsJobForge));
    const answer = last.then(run, run);
    last = answer.catch(() => undefined);
    return withDeadline(what, { ...limits, ...call }, answer);
  };
  return {
    call: async (name, args, call) => execute(written.call(name, args), name, call),
    close: async () => undefined,
  };
}

function failAsJobForge(error: unknown): never {
  throw fromDriverError(error);
}

function executeOn<T>(
  connections: Connections,
  statement: Statement,
  what: string,
  options: CallOptions,
): Promise<T> {
  let abandoned = false;
  let abandon = (): void => {
    abandoned = true;
  };
  const work = async (): Promise<T> => {
    const lent = await connections.lend().catch(failAsJobForge);
    // Nobody waits for it any more.
    if (abandoned) {
      lent.release(false);
      throw new ConnectionError("given up");
    }
    const running = lent.client.query(statement.text, [...statement.values]);
    abandon = () => {
      abandoned = true;
      lent.abandon(running);
    };
    try {
      const result = await running;
      if (!abandoned) lent.release(false);
      return answerIn<T>(result);
    } catch (error) {
      const reason = fromDriverError(error);
      if (!abandoned) lent.release(isBroken(reason));
      throw reason;
    }
  };
  return withDeadline(what, options, work(), () => abandon());
}

function answerIn<T>(result: Pick<PgQueryResult, "rows">): T {
  const [row] = result.rows as readonly { readonly answer: string | null }[];
  // A function that returns nothing answers an empty text.
  return (row?.answer ? JSON.parse(row.answer) : null) as T;
}

/** Whether the connection itself is at fault, not the statement or its time. */
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
    const answer = await work(client, transactionTransport(client, written, { timeoutMs }));
    const ended = await client.query("commit").catch(failAsJobForge);
    if (ended.command === "ROLLBACK")
      throw new DatabaseError("The transaction was rolled back, because a statement in it had failed", {
        code: "25P02",
      });
    lent.release(false);
    return answer;
  } catch (error) {
    // A connection that is busy or dead does not get to it, and is dropped.
    const usable = await withDeadline("rollback", { timeoutMs: 5000 }, client.query("rollback")).then(
      () => true,
      () => false,
    );
    lent.release(!usable);
    throw error;
  }
}
