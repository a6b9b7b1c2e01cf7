/**
 * The servers that all contestants share, and one prepared database per contestant that is copied for each measurement.
 */
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { BenchDatabase, BenchServer } from "../server.ts";
import type { Command } from "./contestant-process.ts";
import type { Copies, Peer } from "./peers.ts";
import { ContestantError, type Prepared, Unsupported } from "./protocol.ts";
import type { RedisServer } from "./redis.ts";
import { enqueueing, Session, working } from "./session.ts";
import { postgresStore, redisStore, type Store } from "./store.ts";

/** A contestant that was installed and prepared successfully. */
export interface Contestant {
  /** For example "pg-boss, defaults". */
  readonly name: string;
  readonly peer: Peer;
  readonly settings: "best" | "default";
  readonly command: Command;
  readonly prepared: Prepared;
}

/** Jobs that are in the store before a measurement begins, in addition to the jobs that are measured. */
export interface Crowd {
  readonly of: "ready" | "scheduled" | "finished";
  readonly jobs: number;
}

/** The number of jobs that a contestant creates itself. They are then copied. */
const originals = 1000;

export class Arena implements AsyncDisposable {
  readonly #server: BenchServer;
  readonly #redis: RedisServer | undefined;
  readonly #serverPid: number | undefined;
  /** Keyed by contestant and crowd. */
  readonly #templates = new Map<string, BenchDatabase>();

  private constructor(server: BenchServer, redis: RedisServer | undefined, serverPid: number | undefined) {
    this.#server = server;
    this.#redis = redis;
    this.#serverPid = serverPid;
  }

  static async open(server: BenchServer, redis: RedisServer | undefined): Promise<Arena> {
    return new Arena(server, redis, await server.pid());
  }

  /** Has a contestant create its tables in a database that later measurements copy. */
  async prepare(peer: Peer, settings: "best" | "default", command: Command): Promise<Contestant> {
    const name = settings === "best" ? peer.name : `${peer.name}, defaults`;
    const { store, keep } = await this.#storeToKeep(peer, {});
    await using session = new Session(command, settings, store);
    const crew = await session.start();
    const [prepared] = await crew.ask({ do: "prepare" });
    if (prepared === undefined) throw new Error("the contestant did not reply");
    keep(name);
    return { name, peer, settings, command, prepared };
  }

  /** Opens a session on a copy of the prepared database, optionally with a crowd in it. */
  async session({ name, peer, settings, command }: Contestant, crowd?: Crowd): Promise<Session> {
    if (crowd !== undefined) await this.#gather({ name, peer, settings, command }, crowd);
    const template = this.#templates.get(keyOf(name, crowd))?.name;
    const store =
      peer.store === "redis"
        ? await this.#emptyRedis()
        : await this.#storeOf(await this.#server.createDatabase(copyOf(template, crowd !== undefined)));
    return new Session(command, settings, store);
  }

  /** Drops the databases with crowds, because they are large. */
  async disperse(): Promise<void> {
    for (const [key, database] of this.#templates) {
      if (!key.includes(separator)) continue;
      this.#templates.delete(key);
      await database[Symbol.asyncDispose]();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const database of this.#templates.values()) await database[Symbol.asyncDispose]();
  }

  /** Has the contestant create some jobs in the state that the crowd asks for, and copies their rows. */
  async #gather(contestant: Omit<Contestant, "prepared">, crowd: Crowd): Promise<void> {
    const { name, peer, settings, command } = contestant;
    const key = keyOf(name, crowd);
    const copies = crowd.of === "finished" ? peer.finished : peer.live;
    if (this.#templates.has(key)) return;
    if (copies === undefined)
      throw new Unsupported("this many jobs are copied with SQL, which its store does not have");
    const { store, keep } = await this.#storeToKeep(peer, copyOf(this.#templates.get(name)?.name, false));
    await using session = new Session(command, settings, store);
    const crew = await session.start();
    const delaySeconds = crowd.of === "scheduled" ? 86_400 : 0;
    const jobs = Math.min(originals, crowd.jobs);
    await crew.ask(enqueueing({ jobs, delaySeconds, seconds: 20 }));
    if (crowd.of === "finished") {
      await crew.ask(working());
      for (let looks = 0; (await crew.ask({ do: "count" }))[0]?.done !== jobs; looks += 1) {
        if (looks > 600) throw new ContestantError(`it did not run ${jobs} jobs in half a minute`);
        await sleep(50);
      }
      await crew.ask({ do: "stop" });
    }
    await crew.close();
    await multiply(store.env["DATABASE_URL"] ?? "", copies, crowd);
    keep(key);
  }

  async #storeOf(database: BenchDatabase): Promise<Store> {
    return await postgresStore(database, this.#serverPid);
  }

  /** Creates a store. Calling `keep` makes its database outlive the store, as the template with that key. */
  async #storeToKeep(
    peer: Peer,
    copy: { template?: string },
  ): Promise<{ readonly store: Store; readonly keep: (key: string) => void }> {
    if (peer.store === "redis") return { store: await this.#emptyRedis(), keep: () => undefined };
    const database = await this.#server.createDatabase(copy);
    let kept = false;
    const store = await this.#storeOf({
      ...database,
      [Symbol.asyncDispose]: async () => {
        if (!kept) await database[Symbol.asyncDispose]();
      },
    });
    return {
      store,
      keep: (key) => {
        kept = true;
        this.#templates.set(key, database);
      },
    };
  }

  async #emptyRedis(): Promise<Store> {
    if (this.#redis === undefined) throw new Error("Redis is not running");
    return await redisStore(this.#redis);
  }
}

const separator = " among ";

function keyOf(name: string, crowd: Crowd | undefined): string {
  return crowd === undefined ? name : `${name}${separator}${crowd.jobs} ${crowd.of}`;
}

function copyOf(template: string | undefined, large: boolean): { template?: string; large: boolean } {
  return template === undefined ? { large } : { template, large };
}

/** Copies rows, except for columns with generated values, then vacuums and analyzes the database. */
async function multiply(url: string, { table, own = {} }: Copies, crowd: Crowd): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string }>(
      `select quote_ident(a.attname) as name
       from pg_attribute a
       where a.attrelid = $1::regclass and a.attnum > 0 and not a.attisdropped
         and a.attidentity = '' and a.attgenerated = ''
         and not (a.atthasdef and exists (
           select from pg_index i where i.indrelid = a.attrelid and i.indisprimary and a.attnum = any (i.indkey)))`,
      [table],
    );
    const columns = rows.map(({ name }) => name);
    const values = columns.map((name) => own[name] ?? `t.${name}`);
    const times = Math.ceil(crowd.jobs / originals) - 1;
    const { rowCount } = await client.query(
      `insert into ${table} (${columns.join(", ")})
       select ${values.join(", ")}
       from ${table} t
       cross join generate_series(1, $1::int) n`,
      [times],
    );
    if (times > 0 && rowCount === 0) throw new Unsupported("it does not keep finished jobs");
    await client.query("vacuum analyze");
  } finally {
    await client.end();
  }
}
