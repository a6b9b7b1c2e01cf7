/**
 * Calls that must run in the same transaction as the first of them. The statement itself compares the times at which
 * the transactions began, so it costs no round trip, and does nothing in another transaction or in none.
 */
import { noTransaction } from "./no-transaction.ts";
import type { SqlExecutor } from "./postgres/transport.ts";

interface Calls {
  last: Promise<unknown>;
  /** When the transaction began, in seconds; null until the first result. */
  begunAt: string | null;
}

interface GuardedRow {
  readonly result: string | null;
  readonly begun_at: string;
  readonly same: boolean;
}

/** What is known of each transaction. `forge.with(tx)` may be called several times. */
const known = new WeakMap<object, Calls>();

/** Sends the first call of a transaction at once, and each other call after the result of the one before. */
export function inOneTransaction(tx: object, query: SqlExecutor["query"]): SqlExecutor {
  const calls = known.get(tx) ?? { last: Promise.resolve(), begunAt: null };
  const isFirst = !known.has(tx);
  known.set(tx, calls);
  let free = isFirst;
  const run = async (text: string, values: (string | null)[]) => {
    const { rows } = await query(guarded(text, values.length + 1), [...values, calls.begunAt]);
    const [row] = rows as readonly GuardedRow[];
    if (row?.same === false) throw noTransaction();
    calls.begunAt = row?.begun_at ?? calls.begunAt;
    return { rows };
  };
  return {
    query: (text, values) => {
      const next = (): Promise<{ rows: readonly unknown[] }> => run(text, values);
      const result = free ? next() : calls.last.then(next, next);
      free = false;
      calls.last = result.catch(() => undefined);
      return result;
    },
  };
}

/** The statement, which runs only if its last parameter is null or the time at which the transaction began. */
function guarded(text: string, last: number): string {
  return (
    "select r.result, t.begun_at, t.same from (select b.begun_at, " +
    `coalesce(b.begun_at operator(pg_catalog.=) $${last}::pg_catalog.text, true) as same from (` +
    "select extract(epoch from pg_catalog.transaction_timestamp())::pg_catalog.text as begun_at offset 0) b offset 0) t " +
    `left join lateral (${text} where t.same) r on true`
  );
}
