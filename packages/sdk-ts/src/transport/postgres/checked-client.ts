/**
 * A `pg` client that refuses statements outside of a transaction. After each statement, the server says whether a
 * transaction is open, and `pg` remembers it. It is read when the statement's turn comes, so that a `begin` that was
 * sent before counts, and costs no round trip.
 */
import { InvalidArgumentError } from "../../errors.ts";
import { noTransaction } from "../no-transaction.ts";
import type { SqlExecutor } from "./transport.ts";

/** A query of `pg` with its result. `submit` sends it, or returns the error that it fails with. */
interface PgQuery {
  callback: (error: unknown, result: { readonly rows: readonly unknown[] }) => void;
  submit(connection: unknown): Error | null | undefined;
}

interface PgQueryClass {
  new (text: string, values: (string | null)[]): PgQuery;
}

interface CheckableClient {
  /** I: no transaction is open. T: one is open. E: one is open and has failed. Null: unknown. */
  getTransactionStatus(): "I" | "T" | "E" | null;
  query(query: PgQuery): unknown;
  /** Whether statements are sent before the results of earlier ones have arrived. */
  readonly pipeline?: boolean;
}

/**
 * The client with the check. Undefined if the object is not a `pg` client whose state is known: old versions of `pg`,
 * `pg-native` and pipeline mode do not tell it in time.
 */
export function checkedClient(client: object): SqlExecutor | undefined {
  const Query = (client.constructor as { readonly Query?: PgQueryClass } | undefined)?.Query;
  if (typeof Query !== "function" || !isCheckable(client) || client.pipeline === true) return undefined;
  return {
    query: (text, values) =>
      new Promise((resolve, reject) => {
        if (isUnconnected(client)) throw notConnected();
        const query = new Query(text, values);
        const submit = query.submit.bind(query);
        query.submit = (connection) =>
          client.getTransactionStatus() === "I" ? noTransaction() : submit(connection);
        query.callback = (error, result) => (error ? reject(error) : resolve(result));
        client.query(query);
      }),
  };
}

/** `pg` keeps the statements of such a client until it is connected, perhaps for ever. */
function isUnconnected(client: object): boolean {
  const { _connected, _connecting } = client as { _connected?: unknown; _connecting?: unknown };
  return _connected === false && _connecting === false;
}

function notConnected(): InvalidArgumentError {
  return new InvalidArgumentError("The client of forge.with() is not connected", {
    field: "tx",
    hint: "Call await client.connect() and begin a transaction first, or take a client of a pool: await pool.connect().",
  });
}

function isCheckable(client: object): client is CheckableClient {
  return (
    "getTransactionStatus" in client &&
    typeof client.getTransactionStatus === "function" &&
    !("native" in client)
  );
}
