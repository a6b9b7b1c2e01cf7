/** The database of one scenario, and the addresses under which adapters reach it: Postgres, PostgREST, our server. */
import { createServer } from "@jobforge/server";
import type { TestDatabase } from "@jobforge/testing";
import { pino } from "pino";
import { secret, sign, startBridge } from "../../packages/sdk-ts/test/support/bridge.ts";
import type { Caller } from "./scenario.ts";
import { tenants } from "./values.ts";

/** `http`: the HTTP transport in the form of PostgREST, as with Supabase. `server`: the same, served by our server. */
export type Way = "postgres" | "http" | "server";

/** What an adapter needs to connect. */
export type Address = { readonly database: string } | { readonly url: string; readonly token: string };

const rights: Readonly<Record<Caller, { readonly role: string; readonly tenant_id?: string }>> = {
  app: { role: "jobforge_app", tenant_id: tenants["T"] ?? "" },
  other: { role: "jobforge_app", tenant_id: tenants["U"] ?? "" },
  worker: { role: "jobforge_worker" },
  operator: { role: "jobforge_operator" },
  reader: { role: "jobforge_reader" },
};

const clientRoles = Object.values(rights).map(({ role }) => role);

export class Stage implements AsyncDisposable {
  readonly db: TestDatabase;
  readonly #way: Way;
  #offsetSeconds = 0;
  #front: Promise<AsyncDisposable & { readonly url: string }> | undefined;

  constructor(db: TestDatabase, way: Way) {
    this.db = db;
    this.#way = way;
  }

  /** The time of the database, in epoch milliseconds. */
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

  /** Moves the clock of all later connections. */
  async travel(seconds: number): Promise<void> {
    this.#offsetSeconds += seconds;
    await this.db.travel(`${this.#offsetSeconds} seconds`);
    await this.#closeFront();
  }

  /** Runs the maintenance as if this much time had passed: workers that are silent lose their leases. */
  async maintain(seconds: number): Promise<void> {
    await using later = await this.db.connect();
    await later.travel(`${this.#offsetSeconds + seconds} seconds`);
    await later.query("select jobforge_maintain()");
  }

  /** Ends all connections but the runner's own, and refuses new ones until `endOutage`. */
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
