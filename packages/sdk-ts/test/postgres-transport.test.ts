/** Calls over Postgres: results, the setting of the tenant, and what happens to connections. */
import { once } from "node:events";
import { type AddressInfo, connect as connectTo, createServer } from "node:net";
import type { TestDatabase } from "@jobforge/testing";
import pg from "pg";
import { describe, expect, onTestFinished } from "vitest";
import { started, T, U, untilBlocked } from "../../../sql/test/support/kernel.ts";
import { test } from "../../../test/database.ts";
import {
  ConnectionError,
  DatabaseError,
  ForbiddenError,
  InvalidArgumentError,
  JobNotHeldError,
  NotInstalledError,
  type PostgresOptions,
  postgresTransport,
  TimeoutError,
  type Transport,
} from "../src/index.ts";

interface Enqueued {
  readonly id: string;
  readonly outcome: string;
  readonly run_at: string;
}

/** A transport that is closed after the test. */
function open(options: PostgresOptions): Transport {
  const transport = postgresTransport(options);
  onTestFinished(() => transport.close());
  return transport;
}

function openPool(url: string, max = 2, options: pg.PoolConfig = {}): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max, ...options });
  pool.on("error", () => undefined);
  onTestFinished(() => pool.end());
  return pool;
}

/** A server that accepts every login, and ends the session in the same packet. */
async function endingServer(): Promise<AsyncDisposable & { readonly url: string }> {
  const message = (type: string, body: Buffer): Buffer => {
    const head = Buffer.from(`${type}0000`);
    head.writeInt32BE(body.length + 4, 1);
    return Buffer.concat([head, body]);
  };
  const welcome = message("R", Buffer.alloc(4));
  const ready = message("Z", Buffer.from("I"));
  const farewell = message("E", Buffer.from("SFATAL\0C57P01\0Mterminating connection\0\0"));
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => socket.end(Buffer.concat([welcome, ready, farewell])));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `postgres://somebody@127.0.0.1:${port}/db`,
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}

const job = { p_tenant_id: T, p_type: "a" };

describe("a call", () => {
  test("passes JSON, arrays, times and nulls, and returns JSON", async ({ db }) => {
    const transport = open({ database: db.url });
    const tags = ['a"b', "c\\d", "{e,f}", "NULL", "ü", " "];
    const payload = { text: 'it\'s "quoted" \\ $1 ? :x', list: [1, null, { deep: true }] };
    const enqueued = await transport.call<Enqueued>("jobforge_enqueue_job", {
      ...job,
      p_payload: payload,
      p_tags: tags,
      p_subject: null,
      p_run_at: new Date("2099-01-01T00:00:00Z"),
      p_dedupe_key: undefined,
    });
    expect(enqueued).toMatchObject({ outcome: "created", payload, tags, subject: null });
    expect(new Date(enqueued.run_at).toISOString()).toBe("2099-01-01T00:00:00.000Z");
    const rows = await transport.call<Enqueued[]>("jobforge_list_jobs", { p_tenant_id: T });
    expect(rows).toEqual([expect.objectContaining({ id: enqueued.id, payload, tags })]);
  });

  test("returns an empty array for a set without rows, and null for no value", async ({ db }) => {
    const transport = open({ database: db.url });
    expect(await transport.call("jobforge_list_jobs", { p_tenant_id: T })).toEqual([]);
    const config = { p_tenant_id: T, p_connector_type: "http" };
    expect(await transport.call("jobforge_get_connector_config", config)).toBeNull();
  });

  test("is not sent if the function or a parameter is unknown", async ({ db }) => {
    const transport = open({ database: db.url });
    await expect(transport.call("jobforge_enqueue", job)).rejects.toThrow(InvalidArgumentError);
    await expect(transport.call("jobforge_enqueue_job", { ...job, p_prio: 1 })).rejects.toMatchObject({
      field: "p_prio",
    });
  });

  test("does not depend on type parsers that the application has set", async ({ db }) => {
    pg.types.setTypeParser(pg.types.builtins.JSONB, () => "parsed by the application");
    onTestFinished(() => pg.types.setTypeParser(pg.types.builtins.JSONB, JSON.parse));
    expect(await open({ database: db.url }).call("jobforge_enqueue_job", job)).toMatchObject({ type: "a" });
  });

  test("uses the chosen schema", async ({ db }) => {
    await db.query(`create schema "Other api"`);
    await db.query(
      `create function "Other api".jobforge_get_policy(p_type text) returns jsonb language sql as $$ select jsonb_build_object('type', p_type || '!') $$`,
    );
    const transport = open({ database: db.url, schema: "Other api" });
    expect(await transport.call("jobforge_get_policy", { p_type: "a" })).toEqual({ type: "a!" });
    await expect(transport.call("jobforge_maintain", {})).rejects.toThrow(NotInstalledError);
  });

  test("says that JobForge is not installed, in the words of JobForge", async ({ db }) => {
    await db.query("create schema nothing_here");
    const missing = open({ database: db.url, schema: "nothing_here" }).call("jobforge_enqueue_job", job);
    await expect(missing).rejects.toMatchObject({
      name: "NotInstalledError",
      message: expect.stringMatching(
        /^JobForge is not installed in this database, or is older .* does not exist$/,
      ),
      hint: "Run `jobforge migrate` on this database, and check the option `schema`.",
    });
  });
});

describe("the tenant", () => {
  const seen = (client: pg.ClientBase): Promise<string[]> =>
    client.query("select tenant_id from jobforge_jobs").then(({ rows }) => rows.map((row) => row.tenant_id));

  test("is set for a login that is trusted to name it, and reset after the call", async ({ db }) => {
    const pool = openPool((await db.createLogin("jobforge_app")).url, 1);
    const transport = open({ database: pool });
    await transport.call("jobforge_enqueue_job", job);
    await transport.call("jobforge_enqueue_job", { ...job, p_tenant_id: U });
    expect(await transport.call("jobforge_list_jobs", { p_tenant_id: T })).toHaveLength(1);
    const { rows } = await pool.query(
      "select count(*)::int, current_setting('app.tenant_id', true) as set from jobforge_jobs",
    );
    expect(rows).toEqual([{ count: 0, set: "" }]);
  });

  test("that the session has set itself stays, as a guard", async ({ db }) => {
    const client = (await db.connect((await db.createLogin("jobforge_app")).url)).client;
    await client.query(`set app.tenant_id = '${T}'`);
    const transport = open({ database: client });
    expect(await transport.call("jobforge_enqueue_job", job)).toMatchObject({ outcome: "created" });
    await expect(transport.call("jobforge_enqueue_job", { ...job, p_tenant_id: U })).rejects.toThrow(
      ForbiddenError,
    );
    expect(await seen(client)).toEqual([T]);
  });

  test("is restored for the rest of a transaction", async ({ db }) => {
    const transport = open({ database: (await db.createLogin("jobforge_app")).url });
    await transport.transaction?.(async (client, inside) => {
      const connection = client as pg.ClientBase;
      await inside.call("jobforge_enqueue_job", job);
      expect(await seen(connection)).toEqual([]);
      await connection.query(`set local app.tenant_id = '${T}'`);
      await inside.call("jobforge_enqueue_job", job);
      expect(await seen(connection)).toEqual([T, T]);
    });
  });

  test("is not set if nameTenant is false", async ({ db }) => {
    const transport = open({ database: (await db.createLogin("jobforge_app")).url, nameTenant: false });
    await expect(transport.call("jobforge_enqueue_job", job)).rejects.toThrow(ForbiddenError);
  });
});

describe("connections", () => {
  const notHeld = { p_job_id: T, p_worker_id: "w1" };

  test("survive an error of the kernel", async ({ db }) => {
    const pool = openPool(db.url, 1);
    const transport = open({ database: pool });
    const pid = async (): Promise<number> => (await pool.query("select pg_backend_pid() as pid")).rows[0].pid;
    const before = await pid();
    await expect(transport.call("jobforge_heartbeat_job", notHeld)).rejects.toThrow(JobNotHeldError);
    expect(await pid()).toBe(before);
  });

  test("that died are replaced, and the call that failed is retryable", async ({ db }) => {
    const transport = open({ database: db.url, pool: { max: 1 } });
    await transport.call("jobforge_list_gates", {});
    const waiting = started(transport.transaction?.(() => killOthers(db)) ?? Promise.resolve());
    await expect(waiting).rejects.toThrow(ConnectionError);
    await expect(waiting).rejects.toMatchObject({ retryable: true });
    expect(await transport.call("jobforge_list_gates", {})).toEqual([]);
  });

  test.for(["a URL", "a pool"])(
    "that the server ends as soon as they are ready do not end the process: %s",
    async (kind) => {
      await using server = await endingServer();
      const transport = open({ database: kind === "a URL" ? server.url : openPool(server.url) });
      await expect(transport.call("jobforge_enqueue_job", job)).rejects.toThrow(ConnectionError);
    },
  );

  test("that cannot be opened are errors that say whether a retry can help", async ({ db }) => {
    const nobody = open({ database: db.url.replace(/\/\/\w+:/, "//nobody:") });
    await expect(nobody.call("jobforge_list_gates", {})).rejects.toMatchObject({
      name: "ConnectionError",
      code: "28P01",
      retryable: false,
    });
    const silent = open({ database: db.url.replace(/(\/\/\w+):[^@]*@/, "$1@") });
    await expect(silent.call("jobforge_list_gates", {})).rejects.toMatchObject({
      name: "ConnectionError",
      code: "28P01",
      message: expect.stringContaining("The password is missing"),
      hint: expect.stringContaining("PGPASSWORD"),
      retryable: false,
    });
    const unknown = open({ database: "postgres://u:p@nowhere.invalid/none" });
    await expect(unknown.call("jobforge_list_gates", {})).rejects.toMatchObject({
      name: "ConnectionError",
      hint: expect.stringContaining("Percent-encode"),
    });
    const nowhere = open({ database: "postgres://127.0.0.1:1/none" });
    await expect(nowhere.call("jobforge_list_gates", {})).rejects.toMatchObject({
      name: "ConnectionError",
      hint: expect.stringContaining("Check that Postgres is running"),
      retryable: true,
    });
  });

  test("that the server does not let in are closed at once", async ({ db }) => {
    const { hostname, port, pathname, username } = new URL(db.url);
    const proxy = createServer();
    const left = new Promise<void>((resolve) => {
      proxy.on("connection", (socket) => {
        const server = connectTo(Number(port), hostname);
        // Either side may close while the other still sends.
        for (const side of [socket, server]) side.on("error", () => {});
        socket.pipe(server).pipe(socket);
        // Without a word of the client, the server would keep the connection for a minute.
        socket.on("end", resolve);
      });
    });
    proxy.listen(0, "127.0.0.1");
    await once(proxy, "listening");
    onTestFinished(() => void proxy.close());
    const address = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const transport = open({ database: `postgres://${username}@${address}${pathname}` });
    await expect(transport.call("jobforge_list_gates", {})).rejects.toThrow("The password is missing");
    await left;
  });

  test("whose login lacks a role get an error that names it", async ({ db }) => {
    const { url } = await db.createLogin("jobforge_worker");
    const transport = open({ database: url });
    await expect(transport.call("jobforge_search_jobs", { p_filters: {} })).rejects.toMatchObject({
      name: "ForbiddenError",
      hint: expect.stringContaining("jobforge_operator"),
    });
    await expect(transport.call("jobforge_list_gates", {})).rejects.toMatchObject({
      hint: expect.stringContaining("jobforge_operator or jobforge_reader"),
    });
  });

  test("on which a call took too long are dropped, and the next call gets another", async ({ db }) => {
    const transport = open({ database: db.url, pool: { max: 1 }, timeoutMs: 60_000 });
    const key = { ...job, p_idempotency_key: "held" };
    const holder = await db.connect();
    await holder.query("begin");
    await holder.query("select jobforge_enqueue_job($1, 'a', p_idempotency_key => 'held')", [T]);
    await expect(transport.call("jobforge_enqueue_job", key, { timeoutMs: 50 })).rejects.toThrow(
      TimeoutError,
    );
    expect(await transport.call("jobforge_list_gates", {})).toEqual([]);
    const stop = new AbortController();
    const waiting = started(transport.call("jobforge_enqueue_job", key, { signal: stop.signal }));
    await untilSomebodyWaits(db);
    stop.abort(new Error("no longer wanted"));
    await expect(waiting).rejects.toThrow("no longer wanted");
    expect(await transport.call("jobforge_list_gates", {})).toEqual([]);
  });

  test("on which the application's query_timeout expired are dropped, because their statement still runs", async ({
    db,
  }) => {
    const pool = openPool(db.url, 1, { query_timeout: 300 });
    const transport = open({ database: pool });
    const holder = await db.connect();
    await holder.query("begin");
    await holder.query("lock table jobforge.queue in access exclusive mode");
    await expect(transport.call("jobforge_enqueue_job", job)).rejects.toMatchObject({
      name: "ConnectionError",
      retryable: true,
    });
    expect(pool.totalCount).toBe(0);
  });

  test("are awaited no longer than the timeout allows", async ({ db }) => {
    const pool = openPool(db.url, 1);
    const transport = open({ database: pool });
    const lent = await pool.connect();
    await expect(transport.call("jobforge_list_gates", {}, { timeoutMs: 50 })).rejects.toThrow(TimeoutError);
    lent.release();
    expect(await transport.call("jobforge_list_gates", {})).toEqual([]);
    expect(pool.idleCount).toBe(1);
  });

  test("a single client serves one call after the other", async ({ db }) => {
    const { client } = await db.connect();
    const transport = open({ database: client });
    const calls = Array.from({ length: 20 }, () => transport.call<Enqueued>("jobforge_enqueue_job", job));
    const inside = transport.transaction?.((_, within) => within.call<Enqueued>("jobforge_enqueue_job", job));
    expect(new Set((await Promise.all([...calls, inside])).map((each) => each?.id)).size).toBe(21);
    expect(transport.listen).toBeUndefined();
  });

  test("of the application stay open, and those of a URL are closed", async ({ db }) => {
    const pool = openPool(db.url);
    const foreign = postgresTransport({ database: pool });
    await foreign.call("jobforge_list_gates", {});
    await foreign.close();
    expect((await pool.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
    const own = postgresTransport({ database: db.url, pool: { application_name: "own pool" } });
    await own.call("jobforge_list_gates", {});
    await own.close();
    await expect(own.call("jobforge_list_gates", {})).rejects.toMatchObject({ retryable: false });
    const left =
      "select count(*)::int from pg_stat_activity where application_name = 'own pool' and state <> 'idle'";
    expect(await db.value(left)).toBe(0);
  });
});

describe("a transaction", () => {
  test("is committed as a whole, or not at all", async ({ db }) => {
    const transport = open({ database: db.url });
    await db.query("create table orders (id int)");
    const work = (failing: boolean): Promise<unknown> | undefined =>
      transport.transaction?.(async (client, inside) => {
        await (client as pg.ClientBase).query("insert into orders values (1)");
        await inside.call("jobforge_enqueue_job", job);
        if (failing) throw new Error("changed my mind");
      });
    await expect(work(true)).rejects.toThrow("changed my mind");
    expect(
      await db.value("select (select count(*) from orders) + (select count(*) from jobforge_jobs)"),
    ).toBe("0");
    await work(false);
    expect(
      await db.value("select (select count(*) from orders) + (select count(*) from jobforge_jobs)"),
    ).toBe("2");
  });

  test("in which an error was swallowed fails at its commit", async ({ db }) => {
    const transport = open({ database: db.url });
    const work = transport.transaction?.(async (_, inside) => {
      await inside.call("jobforge_enqueue_job", job);
      await inside.call("jobforge_heartbeat_job", { p_job_id: T, p_worker_id: "w1" }).catch(() => undefined);
    });
    await expect(work).rejects.toThrow(DatabaseError);
    expect(await db.value("select count(*)::int from jobforge_jobs")).toBe(0);
  });
});

/** Kills all connections of the test's database except the main one. */
async function killOthers(db: TestDatabase): Promise<void> {
  await db.query(
    "select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
  );
}

async function untilSomebodyWaits(db: TestDatabase): Promise<void> {
  const waiting =
    "select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  let pid: number | undefined;
  do pid = await db.value<number | undefined>(waiting);
  while (pid === undefined);
  await untilBlocked(db, pid);
}

describe("prepared statements", () => {
  /** The texts that the only session of a transport has prepared. */
  const preparedOn = (transport: Transport): Promise<readonly string[]> =>
    transport.transaction?.(async (client) => {
      const { rows } = await (client as pg.Client).query<{ statement: string }>(
        "select statement from pg_prepared_statements where name like 'jobforge%'",
      );
      return rows.map(({ statement }) => statement);
    }) ?? Promise.resolve([]);

  async function callOften(transport: Transport, times = 8): Promise<void> {
    for (let n = 0; n < times; n++)
      expect(await transport.call("jobforge_list_jobs", { p_tenant_id: T })).toEqual([]);
  }

  test("are used on connections of the transport's own pool that make several calls", async ({ db }) => {
    const transport = open({ database: db.url, pool: { max: 1 } });
    await callOften(transport, 4);
    expect(await preparedOn(transport)).toEqual([]);
    await callOften(transport);
    expect(await preparedOn(transport)).toEqual([expect.stringContaining("jobforge_list_jobs")]);
  });

  test("are not used in transaction mode, and not on the application's pool", async ({ db }) => {
    const shared = open({ database: db.url, pool: { max: 1 }, poolMode: "transaction" });
    const foreign = open({ database: openPool(db.url, 1) });
    for (const transport of [shared, foreign]) {
      await callOften(transport);
      expect(await preparedOn(transport)).toEqual([]);
    }
  });

  test("a session that has forgotten them costs no call, and gets none again", async ({ db }) => {
    const transport = open({ database: db.url, pool: { max: 1 } });
    await callOften(transport);
    await transport.transaction?.((client) => (client as pg.Client).query("deallocate all"));
    await callOften(transport);
    expect(await preparedOn(transport)).toEqual([]);
  });

  test("an error of a call does not end their use", async ({ db }) => {
    const transport = open({ database: db.url, pool: { max: 1 } });
    await callOften(transport);
    const nothing = { p_tenant_id: T, p_type: "" };
    for (let n = 0; n < 3; n++)
      await expect(transport.call("jobforge_enqueue_job", nothing)).rejects.toThrow(InvalidArgumentError);
    expect(await preparedOn(transport)).toHaveLength(2);
  });
});
