/** A migrated database for one test: cloned from the template in a few dozen milliseconds, and dropped afterwards. */
import { randomBytes } from "node:crypto";
import pg, { type Client } from "pg";
import { databaseUrl, runOn, type TestServerAddress } from "./server.ts";

export type Row = Record<string, unknown>;

export interface TestDatabase extends AsyncDisposable {
  readonly url: string;
  readonly name: string;
  /** Runs a statement on the test's main connection, as superuser, and returns its rows. */
  query<T extends Row = Row>(sql: string, values?: readonly unknown[]): Promise<T[]>;
  /** Runs a statement that returns one column and one row, and returns that value. */
  value<T = unknown>(sql: string, values?: readonly unknown[]): Promise<T>;
  /**
   * Opens another connection: as the superuser, or with the URL of a login made by `createLogin`. It is closed when the
   * database is dropped.
   */
  connect(url?: string): Promise<TestConnection>;
  /** Moves the clock of the main connection by an offset such as '10 minutes'; '0' resets it. */
  travel(offset: string): Promise<void>;
  /** The database's URL for clients whose clock is moved, such as tomorrow's worker: `urlAt('1 day')`. */
  urlAt(offset: string): string;
  /** Creates a login that is a member of the roles, and returns its URL. It is dropped with the database. */
  createLogin(...roles: string[]): Promise<{ readonly role: string; readonly url: string }>;
  drop(): Promise<void>;
}

export interface TestConnection extends AsyncDisposable {
  readonly client: Client;
  query<T extends Row = Row>(sql: string, values?: readonly unknown[]): Promise<T[]>;
  value<T = unknown>(sql: string, values?: readonly unknown[]): Promise<T>;
  travel(offset: string): Promise<void>;
  close(): Promise<void>;
}

export async function cloneDatabase(server: TestServerAddress): Promise<TestDatabase> {
  const name = `jobforge_test_${randomBytes(6).toString("hex")}`;
  // Copying the files is six times as fast as copying through the log, on a server whose durability is switched off.
  await runOn(server.url, `create database ${name} template ${server.template} strategy file_copy`);
  const url = databaseUrl(server.url, name);
  const open: TestConnection[] = [];
  const logins: string[] = [];

  const connect = async (to: string = url): Promise<TestConnection> => {
    const connection = await openConnection(to);
    open.push(connection);
    return connection;
  };
  const main = await connect();

  const createLogin = async (...roles: string[]): Promise<{ role: string; url: string }> => {
    const role = `jobforge_login_${randomBytes(6).toString("hex")}`;
    const password = randomBytes(12).toString("hex");
    logins.push(role);
    await main.query(`create role ${role} login password '${password}'`);
    for (const granted of roles) await main.query(`grant ${pg.escapeIdentifier(granted)} to ${role}`);
    const changed = new URL(url);
    changed.username = role;
    changed.password = password;
    return { role, url: changed.href };
  };

  const drop = async (): Promise<void> => {
    await Promise.all(open.map((connection) => connection.close()));
    await runOn(server.url, `drop database if exists ${name} with (force)`);
    for (const role of logins) await runOn(server.url, `drop role if exists ${role}`);
  };

  return {
    url,
    name,
    query: main.query,
    value: main.value,
    travel: main.travel,
    urlAt: (offset) => {
      const moved = new URL(url);
      moved.searchParams.set("options", `-c jobforge.clock_offset=${offset.replaceAll(" ", "\\ ")}`);
      return moved.href;
    },
    connect,
    createLogin,
    drop,
    [Symbol.asyncDispose]: drop,
  };
}

async function openConnection(url: string): Promise<TestConnection> {
  const client = new pg.Client({ connectionString: url });
  // A test that restarts or drops the database gets the error from its next statement.
  client.on("error", () => undefined);
  await client.connect();
  const query = async <T extends Row = Row>(sql: string, values?: readonly unknown[]): Promise<T[]> =>
    (await client.query<T>(sql, values ? [...values] : undefined)).rows;
  const value = async <T = unknown>(sql: string, values?: readonly unknown[]): Promise<T> => {
    const [row] = await query(sql, values);
    return Object.values(row ?? {})[0] as T;
  };
  const close = async (): Promise<void> => {
    await client.end().catch(() => undefined);
  };
  return {
    client,
    query,
    value,
    close,
    travel: async (offset) =>
      void (await query("select pg_catalog.set_config('jobforge.clock_offset', $1, false)", [offset])),
    [Symbol.asyncDispose]: close,
  };
}
