/**
 * The conductor's direct connection to the database, as superuser and without the proxy. It works even if all other
 * connection slots are taken.
 */
import pg from "pg";

export type Row = Record<string, unknown>;

export class Direct {
  readonly #pool: pg.Pool;
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
    this.#pool = new pg.Pool({
      connectionString: url,
      application_name: "chaos conductor",
      max: 5,
      connectionTimeoutMillis: 5_000,
    });
    // Sessions end when the server stops. The next statement gets a new session.
    this.#pool.on("error", () => undefined);
  }

  async rows<T extends Row = Row>(sql: string, values: readonly unknown[] = []): Promise<T[]> {
    return (await this.#pool.query<T>(sql, [...values])).rows;
  }

  async value<T>(sql: string, values: readonly unknown[] = []): Promise<T> {
    const [row] = await this.rows(sql, values);
    return Object.values(row ?? {})[0] as T;
  }

  /** Opens a separate session, for work that takes more than one statement. */
  async session(url: string = this.#url): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
    client.on("error", () => undefined);
    await client.connect();
    return client;
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}
