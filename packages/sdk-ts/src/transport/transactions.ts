/**
 * The caller's own transaction, of whatever library it uses. Libraries are recognised by what they offer, because none of them is a
 * dependency: `with(tx)` then needs no import per library, and the types below say what is accepted. An object with
 * `query(text, values)` is taken as it is, so everything else is one line of the caller's.
 */
import { InvalidArgumentError } from "../errors.ts";
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

/** A transaction of the caller: a `pg` client (or anything with its `query`), or one of the libraries. */
export type Transaction =
  | SqlExecutor
  | DrizzleTransaction
  | KyselyTransaction
  | KnexTransaction
  | PrismaTransaction;

/** How to run statements in the transaction. Fails for what is no transaction but the whole database, where that can be seen. */
export function executorOf(tx: Transaction): SqlExecutor {
  if ((typeof tx !== "object" && typeof tx !== "function") || tx === null) throw notATransaction();
  if ("$queryRawUnsafe" in tx) return fromPrisma(tx);
  if ("executeQuery" in tx) return fromKysely(tx);
  if ("raw" in tx) return fromKnex(tx);
  if ("execute" in tx) return fromDrizzle(tx);
  if (isPool(tx) || typeof tx.query !== "function") throw notATransaction();
  return tx;
}

function notATransaction(): InvalidArgumentError {
  return new InvalidArgumentError("This is not a transaction that JobForge knows how to use", {
    field: "tx",
    hint: "Pass the client or tx on which the transaction was begun, not the pool or the database; or { query(text, values) }.",
  });
}

function fromPrisma(tx: PrismaTransaction): SqlExecutor {
  if ("$connect" in tx) throw notATransaction();
  return { query: async (text, values) => ({ rows: rowsIn(await tx.$queryRawUnsafe(text, ...values)) }) };
}

/** A query of Kysely that is already SQL: what `CompiledQuery.raw` makes. */
function fromKysely(tx: KyselyTransaction): SqlExecutor {
  if (!tx.isTransaction) throw notATransaction();
  return {
    query: (sql, parameters) => {
      const query = { kind: "RawNode", sqlFragments: [sql], parameters: [] };
      return tx.executeQuery({ sql, parameters, query, queryId: { queryId: "jobforge" } } as never);
    },
  };
}

/** Knex writes parameters as `?`. They occur in order in every statement of ours, and there is no other question mark. */
function fromKnex(tx: KnexTransaction): SqlExecutor {
  if (tx.isTransaction !== true) throw notATransaction();
  return {
    query: async (text, values) => {
      try {
        return { rows: rowsIn(await tx.raw(text.replaceAll(/\$\d+/g, "?"), values)) };
      } catch (error) {
        // It puts the statement before the message.
        if (error instanceof Error) error.message = error.message.replace(`${text} - `, "");
        throw error;
      }
    },
  };
}

/** What Drizzle asks of an SQL object: that it can be written as a query, whatever the dialect's settings. */
function fromDrizzle(tx: DrizzleTransaction): SqlExecutor {
  if (!("rollback" in tx)) throw notATransaction();
  return {
    query: async (sql, params) => {
      const written = { toQuery: () => ({ sql, params }) };
      return { rows: rowsIn(await tx.execute({ getSQL: () => written } as never)) };
    },
  };
}

/** Drivers answer with rows, or with an object that has them. */
function rowsIn(answer: unknown): readonly unknown[] {
  return Array.isArray(answer) ? answer : (answer as { readonly rows: readonly unknown[] }).rows;
}
