/** The client that an application creates: over Postgres or HTTP, with the transactions of the application. */

import { checkKnown, checkTimeout, requireObject } from "./arguments/values.ts";
import type { ArtifactStore } from "./artifacts/store.ts";
import { JobForgeClient, TransactionClient } from "./client.ts";
import { Gatherer } from "./enqueue/gather.ts";
import { Waker } from "./enqueue/wake.ts";
import { InvalidArgumentError } from "./errors.ts";
import { DoneSignals } from "./jobs/wait.ts";
import { knownOptions } from "./option-names.ts";
import { type HttpOptions, httpTransport } from "./transport/http.ts";
import { isClient, isPool } from "./transport/postgres/pg.ts";
import {
  type PostgresOptions,
  postgresTransport,
  statementsFor,
  transactionTransport,
} from "./transport/postgres/transport.ts";
import { executorOf, type Transaction } from "./transport/transactions.ts";
import type { CallOptions, Transport } from "./transport/transport.ts";

export interface GatherOptions {
  /**
   * False sends each `enqueue` as a statement of its own. By default, calls that are made at the same time are sent
   * together. A single `pg.Client` never gathers, because it may be in a transaction of the application.
   */
  readonly gather?: boolean | undefined;
}

export interface StoreOptions {
  /** Where large contents are kept: `fileStore` or `s3Store` of `@jobforge/connectors`, or your own. Default: none. */
  readonly artifacts?: ArtifactStore | undefined;
}

export type JobForgeOptions = GatherOptions &
  StoreOptions &
  (
    | (Omit<PostgresOptions, "database"> & {
        /** A URL, a `pg.Pool`, or a connected `pg.Client`. */
        readonly database: PostgresOptions["database"] | undefined;
      })
    | HttpOptions
    | {
        /** Your own transport. */
        readonly transport: Transport;
      }
  );

/**
 * The client. Create one per process and close it at the end, or declare it with `await using`. With a URL, the first
 * call opens the connections.
 */
export class JobForge extends JobForgeClient implements AsyncDisposable {
  readonly #options: JobForgeOptions;
  readonly #signals: DoneSignals;
  readonly #waker: Waker;
  readonly #gatherer: Gatherer | undefined;

  constructor(options: JobForgeOptions) {
    const transport = transportOf(options);
    const signals = new DoneSignals(transport);
    const waker = new Waker(transport);
    const gatherer = gathers(options, transport) ? new Gatherer(transport, waker) : undefined;
    super(transport, { signals, waker, gatherer, artifacts: options.artifacts });
    this.#options = options;
    this.#signals = signals;
    this.#waker = waker;
    this.#gatherer = gatherer;
  }

  /**
   * A client whose calls run in your transaction: they are committed or rolled back with it. `tx` is a `pg` client, or
   * the transaction object of Drizzle, Kysely, Knex or Prisma. Handles from this client work outside the transaction,
   * after its commit.
   */
  with(tx: Transaction): TransactionClient {
    const statements = statementsFor("transport" in this.#options ? {} : this.#options);
    const transport = transactionTransport(executorOf(tx), statements);
    const { artifacts } = this.#options;
    return new TransactionClient(transport, { signals: this.#signals, artifacts, root: this });
  }

  /** The same client, except that its calls give up when the signal is aborted or the time is over. */
  within(limits: CallOptions): JobForgeClient {
    const { timeoutMs } = knownOptions(limits, "within");
    if (timeoutMs !== undefined) checkTimeout(timeoutMs);
    const { transport } = this;
    const limited: Transport = {
      listen: transport.listen?.bind(transport),
      transaction: transport.transaction?.bind(transport),
      maxConnections: transport.maxConnections,
      download: transport.download?.bind(transport),
      upload: transport.upload?.bind(transport),
      close: () => transport.close(),
      call: (name, args, options) => transport.call(name, args, { ...limits, ...options }),
    };
    const { artifacts } = this.#options;
    return new JobForgeClient(limited, { signals: this.#signals, waker: this.#waker, artifacts, root: this });
  }

  /** Closes what this client opened. A pool or client that it was given stays open. */
  async close(): Promise<void> {
    await this.#gatherer?.settled();
    await this.#waker.flush();
    await this.#signals.close();
    await this.transport.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

const optionNames: readonly string[] = [
  "database",
  "url",
  "token",
  "pool",
  "poolMode",
  "schema",
  "timeoutMs",
  "nameTenant",
  "gather",
  "artifacts",
  "apiKey",
  "headers",
  "fetch",
];

const optionAliases: Readonly<Record<string, string>> = {
  connectionstring: "database",
  databaseurl: "database",
  connection: "database",
  db: "database",
  client: "database",
  apischema: "schema",
  timeout: "timeoutMs",
  max: "Pass options of pg.Pool as pool, such as { database, pool: { max: 20 } }.",
  ssl: "Pass options of pg.Pool as pool, such as { database, pool: { ssl: true } }.",
};

const optionsHint = "Pass { database: process.env.DATABASE_URL }, or { url, token } to use HTTP.";

/** A call in a transaction of the application must be sent at once, and its error must not concern other calls. */
function gathers(options: JobForgeOptions, transport: Transport): boolean {
  const { gather = true } = options;
  if (typeof gather !== "boolean")
    throw new InvalidArgumentError("Invalid argument: gather must be true or false", { field: "gather" });
  const database = "database" in options ? options.database : undefined;
  const isOneClient = typeof database === "object" && !isPool(database);
  return gather && !isOneClient && transport.isTransaction !== true;
}

function transportOf(options: JobForgeOptions): Transport {
  requireObject(options, "options", optionsHint);
  if (isClient(options))
    throw new InvalidArgumentError("Invalid argument: options must not be a pool or client itself", {
      field: "options",
      hint: "Pass it as { database: pool }.",
    });
  if ("transport" in options) return options.transport;
  checkKnown(options, optionNames, { aliases: optionAliases });
  if (options.timeoutMs !== undefined) checkTimeout(options.timeoutMs);
  if ("pool" in options && options.pool !== undefined)
    requireObject(options.pool, "pool", "Pass options of pg.Pool, such as { max: 20 }.");
  if ("url" in options) return httpTransport(options);
  const { database } = options;
  if (database === undefined)
    throw new InvalidArgumentError("database is undefined", {
      field: "database",
      hint: "Set the environment variable it comes from, such as DATABASE_URL, or pass { url, token } to use HTTP.",
    });
  return postgresTransport({ ...options, database });
}
