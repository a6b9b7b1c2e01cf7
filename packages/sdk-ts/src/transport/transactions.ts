/**
 * The caller's own transaction, of any library. Libraries are recognized by their methods, because none of them is a
 * dependency: `with(tx)` needs no import per library, and the types below say what is accepted. An object with
 * `query(text, values)` is used as it is, so the caller can adapt any other library in one line.
 */
import { InvalidArgumentError } from "../errors.ts";
import { inOneTransaction } from "./one-transaction.ts";
import { checkedClient } from "./postgres/checked-client.ts";
import { isPool } from "./postgres/pg.ts";
import type { SqlExecutor } from "./postgres/transport.ts";

/** The `tx` of Drizzle's `db.transaction(async (tx) => …)`, with any Postgres driver. */
export interface DrizzleTransaction {
  execute(query: never): PromiseLike<unknown>;
  rollback(): never;
}

/** The `trx` of Kysely's `db.transaction().execute(async (trx) => …)`. */
export interface KyselyTransaction {
  readonly isTransaction: boolean;
  executeQuery(query: never): Promise<{ readonly rows: readonly unknown[] }>;
}

/** The `trx` of Knex's `knex.transaction(async (trx) => …)`. */
export interface KnexTransaction {
  readonly isTransaction?: boolean;
  raw(sql: string, bindings: (string | null)[]): PromiseLike<unknown>;
}

/** The `tx` of Prisma's `prisma.$transaction(async (tx) => …)`. */
export interface PrismaTransaction {
  $queryRawUnsafe(query: string, ...values: unknown[]): PromiseLike<unknown>;
}

/** A transaction of the caller: a `pg` client, any object with its `query`, or a library's transaction. */
export type Transaction =
  | SqlExecutor
  | DrizzleTransaction
  | KyselyTransaction
  | KnexTransaction
  | PrismaTransaction;

/** Runs statements in the transaction. Throws if the object is recognizably a whole database and not a transaction. */
export function executorOf(tx: Transaction): SqlExecutor {
  if ((typeof tx !== "object" && typeof tx !== "function") || tx === null) throw notATransaction();
  if ("$queryRawUnsafe" in tx) return fromPrisma(tx);
  if ("executeQuery" in tx) return fromKysely(tx);
  if ("raw" in tx) return fromKnex(tx);
  if ("execute" in tx) return fromDrizzle(tx);
  if (isPool(tx) || typeof tx.query !== "function") throw notATransaction();
  return checkedClient(tx) ?? tx;
}

function notATransaction(): InvalidArgumentError {
  return new InvalidArgumentError("This is not a transaction that JobForge can use", {
    field: "tx",
    hint: "Pass the client or tx on which the transaction was begun, not the pool or the database, or pass { query(text, values) }.",
  });
}

function fromPrisma(tx: PrismaTransaction): SqlExecutor {
  if ("$connect" in tx) throw notATransaction();
  return { query: async (text, values) => ({ rows: rowsIn(await tx.$queryRawUnsafe(text, ...values)) }) };
}

/**
 * Passes a Kysely query that is already SQL, in the form that `CompiledQuery.raw` creates. Kysely holds back a query
 * until the one before has ended, but not a rollback. So all queries but the first could run after the transaction.
 */
function fromKysely(tx: KyselyTransaction): SqlExecutor {
  if (!tx.isTransaction) throw notATransaction();
  return inOneTransaction(tx, (sql, parameters) => {
    const query = { kind: "RawNode", sqlFragments: [sql], parameters: [] };
    return tx.executeQuery({ sql, parameters, query, queryId: { queryId: "jobforge" } } as never);
  });
}

/**
 * Knex writes parameters as `?`. In every statement of the SDK they occur in order, and there is no other question
 * mark.
 */
function fromKnex(tx: KnexTransaction): SqlExecutor {
  if (tx.isTransaction !== true) throw notATransaction();
  return {
    query: async (text, values) => {
      try {
        return { rows: rowsIn(await tx.raw(text.replaceAll(/\$\d+/g, "?"), values)) };
      } catch (error) {
        // Knex puts the statement before the message.
        if (error instanceof Error) error.message = error.message.replace(`${text} - `, "");
        throw error;
      }
    },
  };
}

/** Drizzle requires only that an SQL object can be written as a query, whatever the settings of the dialect are. */
function fromDrizzle(tx: DrizzleTransaction): SqlExecutor {
  if (!("rollback" in tx)) throw notATransaction();
  return {
    query: async (sql, params) => {
      const written = { toQuery: () => ({ sql, params }) };
      return { rows: rowsIn(await tx.execute({ getSQL: () => written } as never)) };
    },
  };
}

/** The result of a driver is the rows, or an object that has them. */
function rowsIn(result: unknown): readonly unknown[] {
  return Array.isArray(result) ? result : (result as { readonly rows: readonly unknown[] }).rows;
}
