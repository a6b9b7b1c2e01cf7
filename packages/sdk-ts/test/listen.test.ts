/** LISTEN: notifications arrive, and a lost connection is replaced. */

import type { AddressInfo } from "node:net";
import { connect as connectTo, createServer, type Socket } from "node:net";
import type { TestDatabase } from "@jobforge/testing";
import pg from "pg";
import { expect, onTestFinished } from "vitest";
import { test } from "../../../test/database.ts";
import { type Listener, type PostgresOptions, postgresTransport } from "../src/index.ts";
import { listen } from "../src/transport/postgres/listen.ts";

interface Subscription {
  readonly listener: Listener;
  /** Notifications and states of the connection, in order: "up", "down", "channel payload". */
  readonly events: string[];
  /** Resolves when the event has happened `times` times. */
  until(event: string, times?: number): Promise<void>;
}

async function listenTo(options: PostgresOptions, channels: readonly string[]): Promise<Subscription> {
  const transport = postgresTransport(options);
  const events: string[] = [];
  let onEvent = (): void => undefined;
  const add = (event: string): void => {
    events.push(event);
    onEvent();
  };
  const listener = await transport.listen?.(channels, {
    onNotification: (channel, payload) => add(`${channel} ${payload}`),
    onState: (state) => add(state),
  });
  if (listener === undefined) throw new Error("cannot listen");
  onTestFinished(() => listener.close());
  const count = (event: string): number => events.filter((each) => each === event).length;
  const until = async (event: string, times = 1): Promise<void> => {
    while (count(event) < times)
      await new Promise<void>((resolve) => {
        onEvent = resolve;
      });
  };
  return { listener, events, until };
}

async function killListeners(db: TestDatabase): Promise<number> {
  return await db.value<number>(
    `select count(pg_terminate_backend(pid, 5000))::int from pg_stat_activity
     where datname = current_database() and query ~ '^unlisten'`,
  );
}

test("notifications arrive on the requested channels", async ({ db }) => {
  const subscription = await listenTo({ database: db.url }, ["jobforge_wake", 'odd "channel"']);
  await db.query(
    `select pg_notify('jobforge_wake', 'a'), pg_notify('other', 'b'), pg_notify('odd "channel"', 'c')`,
  );
  await subscription.until('odd "channel" c');
  expect(subscription.events).toEqual(["up", "jobforge_wake a", 'odd "channel" c']);
});

test("listening takes no connection from the application's pool", async ({ db }) => {
  const pool = new pg.Pool({ connectionString: db.url, max: 1 });
  pool.on("error", () => undefined);
  onTestFinished(() => pool.end());
  const subscription = await listenTo({ database: pool }, ["jobforge_wake"]);
  await pool.query("select pg_notify('jobforge_wake', 'a')");
  await subscription.until("jobforge_wake a");
  await subscription.listener.close();
});

test("a killed connection is replaced, and notifications arrive again", async ({ db }) => {
  const subscription = await listenTo({ database: db.url }, ["jobforge_wake"]);
  for (const round of [1, 2, 3]) {
    expect(await killListeners(db)).toBe(1);
    await subscription.until("up", round + 1);
    await db.query("select pg_notify('jobforge_wake', $1)", [String(round)]);
    await subscription.until(`jobforge_wake ${round}`);
  }
  expect(subscription.events).toEqual([
    "up",
    "down",
    "up",
    "jobforge_wake 1",
    "down",
    "up",
    "jobforge_wake 2",
    "down",
    "up",
    "jobforge_wake 3",
  ]);
});

test("a listener connects when the server becomes available, and reports its absence once", async ({
  db,
}) => {
  const proxy = await openProxy(db.url);
  proxy.close();
  const subscription = await listenTo({ database: proxy.url }, ["jobforge_wake"]);
  expect(subscription.events).toEqual(["down"]);
  await proxy.refused(3);
  proxy.open();
  await subscription.until("up");
  await db.query("select pg_notify('jobforge_wake', 'a')");
  await subscription.until("jobforge_wake a");
  expect(subscription.events).toEqual(["down", "up", "jobforge_wake a"]);
});

test("a connection that no longer responds is noticed and replaced", async ({ db }) => {
  const proxy = await openProxy(db.url);
  const states: string[] = [];
  let onState = (): void => undefined;
  const until = async (count: number): Promise<void> => {
    while (states.length < count)
      await new Promise<void>((resolve) => {
        onState = resolve;
      });
  };
  const listener = await listen(
    async () => new pg.Client(proxy.url),
    ["jobforge_wake"],
    {
      onNotification: () => undefined,
      onState: (state, error) => {
        states.push(error === undefined ? state : `${state} ${error.name}`);
        onState();
      },
    },
    { checkEveryMs: 20, respondWithinMs: 3000 },
  );
  proxy.stall();
  await until(2);
  proxy.open();
  await until(3);
  await listener.close();
  expect(states.slice(0, 3)).toEqual(["up", "down TimeoutError", "up"]);
});

test("a closed listener leaves no connection behind, and reports nothing more", async ({ db }) => {
  const subscription = await listenTo({ database: db.url }, ["jobforge_wake"]);
  await subscription.listener.close();
  expect(subscription.events).toEqual(["up"]);
  const left =
    "select count(*)::int from pg_stat_activity where application_name = 'jobforge' and datname = current_database()";
  while ((await db.value(left)) !== 0);
});

test("a listener that is closed while it makes its next connection ends", async ({ db }) => {
  let connections = 0;
  let make: (client: pg.Client) => void = () => undefined;
  let asksAgain: () => void = () => undefined;
  const askedAgain = new Promise<void>((resolve) => {
    asksAgain = resolve;
  });
  const another = (): Promise<pg.Client> => {
    connections += 1;
    if (connections === 1) return Promise.resolve(new pg.Client("postgres://nobody@127.0.0.1:1/nothing"));
    asksAgain();
    return new Promise((resolve) => {
      make = resolve;
    });
  };
  const listener = await listen(another, ["jobforge_wake"], { onNotification: () => undefined });
  await askedAgain;
  const closed = listener.close();
  const late = new pg.Client(db.url);
  make(late);
  await closed;
  expect(connections).toBe(2);
  // It was never connected: a client connects once only.
  await late.connect();
  await late.end();
});

test("a transport in transaction mode of a pooler has no listen", ({ db }) => {
  expect(postgresTransport({ database: db.url, poolMode: "transaction" }).listen).toBeUndefined();
});

interface Proxy {
  readonly url: string;
  open(): void;
  close(): void;
  /** Keeps old and new connections open, and passes nothing on. */
  stall(): void;
  /** Resolves when `times` connections were refused. */
  refused(times: number): Promise<void>;
}

/** A proxy in front of the server that can be shut. */
async function openProxy(url: string): Promise<Proxy> {
  const { hostname, port } = new URL(url);
  let isOpen = true;
  let isStalled = false;
  let refusals = 0;
  let onRefusal = (): void => undefined;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    if (!isOpen) {
      socket.destroy();
      refusals += 1;
      return onRefusal();
    }
    const through = connectTo(Number(port), hostname);
    through.on("error", () => socket.destroy());
    through.on("close", () => socket.destroy());
    socket.on("data", (data) => isStalled || through.write(data));
    through.on("data", (data) => isStalled || socket.write(data));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const proxied = new URL(url);
  proxied.port = String((server.address() as AddressInfo).port);
  return {
    url: proxied.href,
    open: () => {
      isOpen = true;
      isStalled = false;
    },
    close: () => {
      isOpen = false;
    },
    stall: () => {
      isStalled = true;
    },
    refused: async (times) => {
      while (refusals < times)
        await new Promise<void>((resolve) => {
          onRefusal = resolve;
        });
    },
  };
}
