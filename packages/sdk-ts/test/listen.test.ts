/** LISTEN: notifications arrive, and a connection that is lost is replaced. */

import type { AddressInfo } from "node:net";
import { connect as connectTo, createServer, type Socket } from "node:net";
import type { TestDatabase } from "@jobforge/testing";
import pg from "pg";
import { expect, onTestFinished } from "vitest";
import { test } from "../../../test/database.ts";
import { type Listener, type PostgresOptions, postgresTransport } from "../src/index.ts";
import { listen } from "../src/transport/postgres/listen.ts";

interface Ear {
  readonly listener: Listener;
  /** What was heard and how the connection fared, in order: "up", "down", "channel payload". */
  readonly events: string[];
  /** Comes back when the event has happened so many times. */
  until(event: string, times?: number): Promise<void>;
}

async function listenTo(options: PostgresOptions, channels: readonly string[]): Promise<Ear> {
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

test("notifications arrive on the channels that were asked for", async ({ db }) => {
  const ear = await listenTo({ database: db.url }, ["jobforge_wake", 'odd "channel"']);
  await db.query(
    `select pg_notify('jobforge_wake', 'a'), pg_notify('other', 'b'), pg_notify('odd "channel"', 'c')`,
  );
  await ear.until('odd "channel" c');
  expect(ear.events).toEqual(["up", "jobforge_wake a", 'odd "channel" c']);
});

test("the application's pool is not robbed of a connection", async ({ db }) => {
  const pool = new pg.Pool({ connectionString: db.url, max: 1 });
  pool.on("error", () => undefined);
  onTestFinished(() => pool.end());
  const ear = await listenTo({ database: pool }, ["jobforge_wake"]);
  await pool.query("select pg_notify('jobforge_wake', 'a')");
  await ear.until("jobforge_wake a");
  await ear.listener.close();
});

test("a connection that was killed is replaced, and heard again", async ({ db }) => {
  const ear = await listenTo({ database: db.url }, ["jobforge_wake"]);
  for (const round of [1, 2, 3]) {
    expect(await killListeners(db)).toBe(1);
    await ear.until("up", round + 1);
    await db.query("select pg_notify('jobforge_wake', $1)", [String(round)]);
    await ear.until(`jobforge_wake ${round}`);
  }
  expect(ear.events).toEqual([
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

test("a server that is not there yet is listened to when it comes, and its absence is told once", async ({
  db,
}) => {
  const gate = await openGate(db.url);
  gate.close();
  const ear = await listenTo({ database: gate.url }, ["jobforge_wake"]);
  expect(ear.events).toEqual(["down"]);
  await gate.refused(3);
  gate.open();
  await ear.until("up");
  await db.query("select pg_notify('jobforge_wake', 'a')");
  await ear.until("jobforge_wake a");
  expect(ear.events).toEqual(["down", "up", "jobforge_wake a"]);
});

test("a connection that has gone silent is noticed and replaced", async ({ db }) => {
  const gate = await openGate(db.url);
  const states: string[] = [];
  let onState = (): void => undefined;
  const until = async (count: number): Promise<void> => {
    while (states.length < count)
      await new Promise<void>((resolve) => {
        onState = resolve;
      });
  };
  const listener = await listen(
    async () => new pg.Client(gate.url),
    ["jobforge_wake"],
    {
      onNotification: () => undefined,
      onState: (state, error) => {
        states.push(error === undefined ? state : `${state} ${error.name}`);
        onState();
      },
    },
    { checkEveryMs: 20, answerWithinMs: 3000 },
  );
  gate.stall();
  await until(2);
  gate.open();
  await until(3);
  await listener.close();
  expect(states.slice(0, 3)).toEqual(["up", "down TimeoutError", "up"]);
});

test("a listener that is closed leaves no connection behind, and is silent", async ({ db }) => {
  const ear = await listenTo({ database: db.url }, ["jobforge_wake"]);
  await ear.listener.close();
  expect(ear.events).toEqual(["up"]);
  const left =
    "select count(*)::int from pg_stat_activity where application_name = 'jobforge' and datname = current_database()";
  while ((await db.value(left)) !== 0);
});

test("there is no listening in a pooler's transaction mode", ({ db }) => {
  expect(postgresTransport({ database: db.url, poolMode: "transaction" }).listen).toBeUndefined();
});

interface Gate {
  readonly url: string;
  open(): void;
  close(): void;
  /** Keeps connections open, old and new ones, and passes nothing on. */
  stall(): void;
  /** Comes back when so many connections were refused. */
  refused(times: number): Promise<void>;
}

/** A way to the server that can be shut. */
async function openGate(url: string): Promise<Gate> {
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
  const gated = new URL(url);
  gated.port = String((server.address() as AddressInfo).port);
  return {
    url: gated.href,
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
