/** The client an application makes: over Postgres or HTTP, with the application's transactions. */
import { checkTimeout } from "./arguments.ts";
import { JobForgeClient, TransactionClient } from "./client.ts";
import { Waker } from "./enqueue/wake.ts";
import { InvalidArgumentError } from "./errors.ts";
import { DoneSignals } from "./jobs/wait.ts";
import { type HttpOptions, httpTransport } from "./transport/http.ts";
import {
  type PostgresOptions,
  postgresTransport,
  statementsFor,
  transactionTransport,
} from "./transport/postgres/transport.ts";
import { executorOf, type Transaction } from "./transport/transactions.ts";
import type { CallOptions, Transport } from "./transport/transport.ts";

export type JobForgeOptions =
  | (Omit<PostgresOptions, "database"> & {
      /** A URL, a `pg.Pool`, or a connected `pg.Client`. */
      readonly database: PostgresOptions["database"] | undefined;
    })
  | HttpOptions
  | {
      /** A transport of your own. */
      readonly transport: Transport;
    };

/**
 * The client. Make one per process and close it at the end, or declare it with `await using`. A URL's connections are opened by the
 * first call.
 */
export class JobForge extends JobForgeClient implements AsyncDisposable {
  readonly #options: JobForgeOptions;
  readonly #signals: DoneSignals;
  readonly #waker: Waker;

  constructor(options: JobForgeOptions) {
    const transport = transportOf(options);
    const signals = new DoneSignals(transport);
    const waker = new Waker(transport);
    super(transport, { signals, waker });
    this.#options = options;
    this.#signals = signals;
    this.#waker = waker;
  }

  /**
   * The same calls in a transaction of yours: committed and rolled back with it. `tx` is a `pg` client, or what Drizzle, Kysely, Knex or
   * Prisma hand to a transaction's function. Handles that come out of it work outside of the transaction, after its commit.
   */
  with(tx: Transaction): TransactionClient {
    const statements = statementsFor("transport" in this.#options ? {} : this.#options);
    const transport = transactionTransport(executorOf(tx), statements);
    return new TransactionClient(transport, { signals: this.#signals, root: this });
  }

  /** The same client, whose calls give up when the signal is aborted or the time is over. */
  within(limits: CallOptions): JobForgeClient {
    if (limits.timeoutMs !== undefined) checkTimeout(limits.timeoutMs);
    const { transport } = this;
    const limited: Transport = {
      listen: transport.listen?.bind(transport),
      transaction: transport.transaction?.bind(transport),
      maxConnections: transport.maxConnections,
      close: () => transport.close(),
      call: (name, args, options) => transport.call(name, args, { ...limits, ...options }),
    };
    return new JobForgeClient(limited, { signals: this.#signals, waker: this.#waker, root: this });
  }

  /** Ends what this client opened. A pool or client that it was given stays open. */
  async close(): Promise<void> {
    await this.#waker.flush();
    await this.#signals.close();
    await this.transport.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

function transportOf(options: JobForgeOptions): Transport {
  if ("transport" in options) return options.transport;
  if (options.timeoutMs !== undefined) checkTimeout(options.timeoutMs);
  if ("url" in options) return httpTransport(options);
  const { database } = options;
  if (database === undefined)
    throw new InvalidArgumentError("database is undefined", {
      field: "database",
      hint: "Set the environment variable it comes from, such as DATABASE_URL, or pass { url, token } to go over HTTP.",
    });
  return postgresTransport({ ...options, database });
}
