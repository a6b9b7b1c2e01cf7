/**
 * A source whose jobs are rows in Postgres. It is read with SQL, so the library of the source need not be installed.
 * Each batch is one transaction of the source: the rows are locked, taken over, and deleted. Workers of these queues
 * skip locked rows, so none of them can start a job that is being imported.
 */
import type pg from "pg";
import { Client } from "../client.ts";
import { CommandError } from "../failures.ts";
import type {
  Census,
  LeftAlone,
  Source,
  SourceJob,
  SourceOptions,
  SourceSchedule,
  TakeOver,
  WaitingState,
} from "./source.ts";

/** How the tables of one queue are read. Statements get the parameters that the comments name. */
export interface Tables {
  /** The name of the queue, for messages. */
  readonly name: string;
  readonly schema: string;
  /** The table of jobs, to find out whether the queue is there at all, and which columns its version has. */
  readonly table: string;
  /** The key before the first job. */
  readonly start: readonly string[];
  statements(schema: string, columns: ReadonlySet<string>): Statements;
}

export interface Statements {
  /** Returns name, running, failed and waiting. $1 are the names or null. */
  readonly census: string;
  /**
   * Returns rows of `JobRow`, ordered by their key. $1 are the names or null, $2 is the limit, $3… the last key. The
   * alias of the table of jobs is j.
   */
  readonly jobs: string;
  /** Deletes the jobs with the ids $1. */
  readonly remove: string;
  /** Whether that statement also needs the names of the jobs, as $2. */
  readonly removesByName?: boolean | undefined;
  /** Returns cron entries. $1 are the names or null. The alias of their table is s. */
  readonly schedules?: string | undefined;
  /** Deletes the cron entries with the names $1 and the keys $2. */
  readonly removeSchedules?: string | undefined;
}

interface JobRow {
  readonly id: string;
  readonly created_at: string | null;
  readonly key: readonly string[];
  readonly name: string;
  readonly state: WaitingState;
  readonly payload: string | null;
  readonly run_at: Date | null;
  readonly priority: number;
  readonly attempts_left: number | null;
  readonly dedupe_key: string | null;
  readonly concurrency_key: string | null;
  readonly tags: readonly string[] | null;
  readonly problem: string | null;
}

export async function openPostgres(tables: Tables, options: SourceOptions): Promise<Source> {
  const client = new Client({
    connectionString: options.from ?? options.databaseUrl,
    application_name: "jobforge-import",
    connectionTimeoutMillis: 10_000,
  });
  // The loss of the connection shows in the next call.
  client.on("error", () => undefined);
  await client.connect();
  try {
    // The URL may say which schemas are searched, and the SQL of the source must not find other functions there.
    await client.query("set search_path = pg_catalog, pg_temp");
    const schema = options.schema ?? tables.schema;
    const columns = await columnsOf(client, schema, tables.table);
    if (columns.size === 0) throw notThere(tables, schema);
    return new PostgresSource(client, tables, tables.statements(quoted(schema), columns), options);
  } catch (error) {
    await client.end();
    throw error;
  }
}

class PostgresSource implements Source {
  readonly #client: pg.Client;
  readonly #statements: Statements;
  readonly #options: SourceOptions;
  #last: readonly string[];

  constructor(client: pg.Client, tables: Tables, statements: Statements, options: SourceOptions) {
    this.#client = client;
    this.#statements = statements;
    this.#options = options;
    this.#last = tables.start;
  }

  async census(): Promise<Census> {
    type Row = LeftAlone & { readonly waiting: number };
    const { rows } = await this.#client.query<Row>(this.#statements.census, [this.#types]);
    return {
      waiting: rows.reduce((sum, { waiting }) => sum + waiting, 0),
      left: rows.map(({ name, running, failed }) => ({ name, running, failed })),
    };
  }

  async next(limit: number, work: TakeOver<SourceJob>): Promise<number> {
    const { jobs, remove, removesByName } = this.#statements;
    return await this.#transaction(async (client) => {
      const text = this.#options.readOnly ? jobs : `${jobs} for update of j skip locked`;
      const { rows } = await client.query<JobRow>(text, [this.#types, limit, ...this.#last]);
      const taken = await work(rows.map(jobOf), this.#shared);
      const names = removesByName ? [taken.map(({ name }) => name)] : [];
      if (taken.length > 0) await client.query(remove, [taken.map(({ id }) => id), ...names]);
      this.#last = rows.at(-1)?.key ?? this.#last;
      return rows.length;
    });
  }

  async schedules(work: TakeOver<SourceSchedule>): Promise<void> {
    const { schedules, removeSchedules } = this.#statements;
    if (schedules === undefined) return;
    await this.#transaction(async (client) => {
      const { rows } = await client.query<SourceSchedule>(
        this.#options.readOnly ? schedules : `${schedules} for update of s`,
        [this.#types],
      );
      const taken = await work(rows.map(withoutNulls), this.#shared);
      if (removeSchedules !== undefined && taken.length > 0)
        await client.query(removeSchedules, [taken.map(({ name }) => name), taken.map(({ key }) => key)]);
    });
  }

  get #types(): readonly string[] | null {
    return this.#options.types ?? null;
  }

  /** The connection, if a transaction on it can also enqueue jobs of JobForge. */
  get #shared(): pg.ClientBase | undefined {
    return this.#options.from === undefined ? this.#client : undefined;
  }

  async #transaction<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = this.#client;
    await client.query("begin");
    try {
      const result = await work(client);
      await client.query("commit");
      return result;
    } catch (error) {
      await client.query("rollback").catch(() => undefined);
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.end();
  }
}

function jobOf(row: JobRow): SourceJob {
  return {
    id: row.id,
    createdAt: row.created_at ?? undefined,
    name: row.name,
    state: row.state,
    payload: row.payload ?? undefined,
    runAt: row.run_at ?? undefined,
    priority: row.priority,
    attemptsLeft: row.attempts_left ?? undefined,
    dedupeKey: row.dedupe_key ?? undefined,
    concurrencyKey: row.concurrency_key ?? undefined,
    tags: row.tags ?? undefined,
    problem: row.problem ?? undefined,
  };
}

function withoutNulls(row: SourceSchedule): SourceSchedule {
  return { ...row, timezone: row.timezone ?? undefined, problem: row.problem ?? undefined };
}

async function columnsOf(client: pg.Client, schema: string, table: string): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ name: string }>(
    `select a.attname as name
    from pg_attribute a
    where a.attrelid = to_regclass(format('%I.%I', $1::text, $2::text)) and a.attnum > 0 and not a.attisdropped`,
    [schema, table],
  );
  return new Set(rows.map(({ name }) => name));
}

function notThere({ name, table }: Tables, schema: string): CommandError {
  return new CommandError(
    "source_not_found",
    `There is no table ${schema}.${table} of ${name} in this database.`,
    "If it is in another database, pass --from. If it is in another schema, pass --source-schema.",
  );
}

function quoted(identifier: string): string {
  return `"${identifier.replaceAll('"', '""')}"`;
}

/** SQL: the time at which a job was created, in microseconds. */
export function createdAt(column: string): string {
  return `(extract(epoch from ${column}) * 1000000)::bigint::text`;
}

/** SQL: the payload as text, or null if it is over the limit of JobForge. Such a payload is not sent at all. */
export function payloadOf(column: string): string {
  return `case when octet_length(${column}::text) <= 1048576 then ${column}::text end`;
}
