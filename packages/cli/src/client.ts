/**
 * The command's connections to Postgres. A connection that cannot be opened fails with NoConnectionError, which says
 * why and what to do, and leaves no open socket behind.
 */
import type { Duplex } from "node:stream";
import pg from "pg";

/** There is no way to connect to the database. */
export class NoConnectionError extends Error {
  override readonly name: string = "NoConnectionError";
  /** The code of the cause, such as ECONNREFUSED or 28P01. */
  readonly code: string | undefined;
  readonly hint: string;
  constructor(message: string, hint: string, cause: unknown) {
    super(message, { cause });
    this.code = codeOf(cause);
    this.hint = hint;
  }
}

const connectTimeoutMs = 10_000;

type Connected = ((error: Error) => void) | ((error: null, client: pg.Client) => void);

/**
 * The client of pg leaves its socket open if it cannot log in, for example because the URL has no password. The process
 * could not end before the server closes the connection, after a minute.
 */
export class Client extends pg.Client {
  override connect(): Promise<pg.Client>;
  override connect(callback: Connected): void;
  override connect(callback?: Connected): Promise<pg.Client> | undefined {
    if (callback === undefined)
      return super.connect().catch((error: unknown) => {
        throw this.#refused(error);
      });
    const settled = callback as (error: Error | null, client: pg.Client) => void;
    super.connect((error: Error | null) => settled(error && this.#refused(error), this));
    return undefined;
  }

  #refused(error: unknown): NoConnectionError {
    const { stream } = (this as unknown as { readonly connection: { readonly stream: Duplex } }).connection;
    stream.destroy();
    return whyRefused(error, this);
  }
}

/** Connects, does the work and closes the connection. */
export async function withClient<T>(
  url: string,
  work: (client: pg.Client) => Promise<T>,
  name = "jobforge-cli",
): Promise<T> {
  const client = new Client({
    connectionString: url,
    application_name: name,
    connectionTimeoutMillis: connectTimeoutMs,
  });
  // The loss of the connection shows in the next call.
  client.on("error", () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

export function createPool(url: string): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    application_name: "jobforge-cli",
    connectionTimeoutMillis: connectTimeoutMs,
    max: 4,
    Client,
  } as pg.PoolConfig);
  // The loss of an idle connection shows in the next call.
  pool.on("error", () => undefined);
  return pool;
}

/** Fails at once if there is no way to connect. */
export async function checkConnection(url: string): Promise<void> {
  await withClient(url, async () => undefined);
}

/** Returns the host and the database that a URL names, with the defaults of pg. Opens no connection. */
export function targetOf(url: string): { readonly host: string; readonly database: string } {
  const { host, database } = new pg.Client({ connectionString: url });
  return { host, database: database ?? "" };
}

const checkUrl = "Check --database-url or DATABASE_URL, and check that the server is running.";
const encode = "Percent-encode special characters in the password, such as @ as %40 and / as %2F.";
const urlForm = "The form of the URL is postgres://USER:PASSWORD@HOST:PORT/DATABASE.";

function whyRefused(error: unknown, { host, port }: pg.Client): NoConnectionError {
  const message = messageOf(error);
  const [text, hint] = reasonFor(codeOf(error), message, `${host}:${port}`);
  return new NoConnectionError(text, hint, error);
}

function reasonFor(code: string | undefined, message: string, address: string): readonly [string, string] {
  if (/password must be a (non-empty )?string/.test(message))
    return ["the server asks for a password, and the database URL has none.", urlForm];
  if (code === "28P01") return [message, `Check the user and the password. ${encode}`];
  if (code === "3D000") return [message, "Create the database, or check the name at the end of the URL."];
  if (code === "ENOTFOUND" || code === "EAI_AGAIN")
    return [`the host of ${address} is not known.`, `Check the host. ${encode}`];
  if (code === "ECONNREFUSED") return [`nothing listens on ${address}.`, checkUrl];
  if (/timeout|ETIMEDOUT/.test(`${code} ${message}`))
    return [`${address} did not respond in time.`, `${checkUrl} A firewall may drop the connection.`];
  if (/\bSSL\b|certificate/i.test(message))
    return [message, "Check sslmode and sslrootcert in the database URL."];
  if (message.includes("pg_hba.conf") && message.includes("no encryption"))
    return [message, "If the server requires TLS, add ?sslmode=require to the database URL."];
  if (message.startsWith("SASL"))
    return [`the login failed: ${message.replace(/^SASL: ([A-Z-]+: )?/, "")}`, checkUrl];
  return [message, checkUrl];
}

export function codeOf(error: unknown): string | undefined {
  // A host with several addresses fails with one error per address.
  if (error instanceof AggregateError && !("code" in error)) return codeOf(error.errors[0]);
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : undefined;
}

export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") return error.errors.map(messageOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}
