/** The database of one scenario, and the addresses under which adapters reach it: Postgres, PostgREST, our server. */
import { createServer } from "@jobforge/server";
import type { TestDatabase } from "@jobforge/testing";
import { pino } from "pino";
import { secret, sign, startBridge } from "../../packages/sdk-ts/test/support/bridge.ts";
import type { Caller } from "./scenario.ts";
import { tenants } from "./values.ts";

/** `http`: the HTTP transport in the form of PostgREST, as with Supabase. `server`: the same, served by our server. */
type PostgresWay = "postgres" | "http" | "server";
export type Way = PostgresWay | "redis" | "redis-cluster";

/** What an adapter needs to connect. */
export type Address =
  | { readonly database: string }
  | { readonly url: string; readonly token: string }
  | {
      readonly redis: string | readonly string[];
      readonly prefix: string;
      readonly groups?: number;
      /** How far the clock of the program is ahead, in seconds. */
      readonly clock_offset: number;
    };

/** Where a scenario is played: what holds the jobs, and what the runner does with it. */
export interface Scene extends AsyncDisposable {
  /** The time of the store, in epoch milliseconds. */
  now(): number;
  addressOf(caller: Caller): Promise<Address>;
  /** Moves the clock of all later connections. */
  travel(seconds: number): Promise<void>;
  /** Runs the maintenance as if this much time had passed: workers that are silent lose their leases. */
  maintain(seconds: number): Promise<void>;
  /** Ends all connections but the runner's own, and refuses new ones until `endOutage`. */
  beginOutage(): Promise<void>;
  endOutage(): Promise<void>;
  setPolicy(type: string, policy: unknown): Promise<void>;
  /** Runs a statement as the owner of the database. */
  execute(sql: string): Promise<void>;
  /** The one value that a query over the views returns. */
  value(sql: string, values: readonly unknown[]): Promise<unknown>;
}

const rights: Readonly<Record<Caller, { readonly role: string; readonly tenant_id?: string }>> = {
  app: { role: "jobforge_app", tenant_id: tenants["T"] ?? "" },
  other: { role: "jobforge_app", tenant_id: tenants["U"] ?? "" },
  worker: { role: "jobforge_worker" },
  operator: { role: "jobforge_operator" },
  reader: { role: "jobforge_reader" },
};

const clientRoles = Object.values(rights).map(({ role }) => role);

export class Stage implements Scene {
  readonly db: TestDatabase;
  readonly #way: PostgresWay;
  #offsetSeconds = 0;
  #front: Promise<AsyncDisposable & { readonly url: string }> | undefined;

  constructor(db: TestDatabase, way: PostgresWay) {
    this.db = db;
    this.#way = way;
  }

  now(): number {
    return Date.now() + this.#offsetSeconds * 1000;
  }

  async addressOf(caller: Caller): Promise<Address> {
    const { role, ...claims } = rights[caller];
    if (this.#way === "postgres") return { database: (await this.#moved().createLogin(role)).url };
    this.#front ??= this.#way === "http" ? startBridge(this.#moved()) : startServer(this.#moved());
    const { url } = await this.#front;
    return { url, token: sign({ role, ...claims, exp: Math.floor(Date.now() / 1000) + 3600 }) };
  }

  async travel(seconds: number): Promise<void> {
    this.#offsetSeconds += seconds;
    await this.db.travel(`${this.#offsetSeconds} seconds`);
    await this.#closeFront();
  }

  async maintain(seconds: number): Promise<void> {
    await using later = await this.db.connect();
    await later.travel(`${this.#offsetSeconds + seconds} seconds`);
    await later.query("select jobforge_maintain()");
  }

  async beginOutage(): Promise<void> {
    // Superusers, such as the runner, are exempt.
    await this.db.query(`alter database ${this.db.name} connection limit 0`);
    await this.db.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid()`,
    );
  }

  async endOutage(): Promise<void> {
    await this.db.query(`alter database ${this.db.name} connection limit -1`);
  }

  async setPolicy(type: string, policy: unknown): Promise<void> {
    await this.db.query("select jobforge_set_policy($1, $2)", [type, policy]);
  }

  async execute(sql: string): Promise<void> {
    await this.db.query(sql);
  }

  async value(sql: string, values: readonly unknown[]): Promise<unknown> {
    return await this.db.value(sql, values);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#closeFront();
  }

  async #closeFront(): Promise<void> {
    const front = this.#front;
    this.#front = undefined;
    await (await front)?.[Symbol.asyncDispose]();
  }

  /** The database whose logins see the moved clock. */
  #moved(): TestDatabase {
    const options = `-c jobforge.clock_offset=${this.#offsetSeconds}s`;
    return {
      ...this.db,
      createLogin: async (...roles) => {
        const { role, url } = await this.db.createLogin(...roles);
        const moved = new URL(url);
        if (this.#offsetSeconds > 0) moved.searchParams.set("options", options);
        // Python's libpq does not read a plus sign as a blank.
        return { role, url: moved.href.replaceAll("+", "%20") };
      },
    };
  }
}

/** A server with only the rights that it needs. */
async function startServer(db: TestDatabase): Promise<AsyncDisposable & { readonly url: string }> {
  const { url: database } = await db.createLogin("jobforge_tenant", ...new Set(clientRoles));
  const server = createServer({ database, jwtSecret: secret, logger: pino({ level: "silent" }) });
  return { url: await server.listen({ port: 0 }), [Symbol.asyncDispose]: () => server.close() };
}
