/** Bodies of requests and unread responses are bounded by bytes, for each caller. */
import { once } from "node:events";
import type { Server } from "node:http";
import { connect, type Socket } from "node:net";
import { createAdaptorServer, type HttpBindings } from "@hono/node-server";
import type { TestDatabase } from "@jobforge/testing";
import { Hono } from "hono";
import { expect, test as plain } from "vitest";
import { ByteBudget } from "../src/byte-budget.ts";
import { watchAnswer } from "../src/memory.ts";
import { appToken, type Running, startServer, T, test, U } from "./support/server.ts";

const mib = 1024 * 1024;

/** Opens a connection and sends text. Nothing is read until the test reads it. */
function send(url: string, text: string): Socket {
  const { port, hostname } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => undefined);
  socket.write(text);
  return socket;
}

/** Reads the first part of what a connection receives, and returns the status in it. */
async function statusOf(socket: Socket): Promise<number> {
  await once(socket, "readable");
  return Number(String(socket.read()).slice(9, 12));
}

/** The statuses of connections, as they arrive. */
function collect(sockets: readonly Socket[]): ReadonlyMap<Socket, number> {
  const statuses = new Map<Socket, number>();
  for (const socket of sockets) void statusOf(socket).then((status) => statuses.set(socket, status));
  return statuses;
}

const headOf = (request: string, token: string | undefined, headers: readonly string[] = []): string =>
  [
    `${request} HTTP/1.1`,
    "host: x",
    ...(token === undefined ? [] : [`authorization: Bearer ${token}`]),
    ...headers,
    "\r\n",
  ].join("\r\n");

const post = "POST /rest/v1/rpc/jobforge_enqueue_job";
const ofLength = (bytes: number): string[] => ["content-type: application/json", `content-length: ${bytes}`];
const job = (tenant: string): object => ({ p_tenant_id: tenant, p_type: "a", p_payload: 1 });

async function enqueue(http: Running, token: string, tenant: string): Promise<number> {
  return (await http.request("/rest/v1/rpc/jobforge_enqueue_job", { token, body: job(tenant) })).status;
}

test("bodies of one caller are refused beyond its part, before they are sent, and others are served", async ({
  http,
}) => {
  const [mine, theirs] = [await appToken(T), await appToken(U)];
  expect(await enqueue(http, mine, T)).toBe(200);
  // None of these sends its body. Four of them use up the part of the caller.
  const sockets = Array.from({ length: 10 }, () => send(http.url, headOf(post, mine, ofLength(8 * mib))));
  const statuses = collect(sockets);
  await expect.poll(() => [...statuses.values()]).toEqual(Array(6).fill(429));
  const response = await http.request("/v1/jobs", { token: mine, body: { type: "a" } });
  expect([response.status, response.headers.get("retry-after"), await response.json()]).toMatchObject([
    429,
    "1",
    { name: "too_many_requests" },
  ]);
  expect(await enqueue(http, theirs, U)).toBe(200);
  for (const socket of sockets) socket.destroy();
  await expect.poll(() => enqueue(http, mine, T)).toBe(200);
});

test("a body of unknown length counts as the longest one, and gives its bytes back", async ({ http }) => {
  const token = await appToken(T);
  const chunked = ["content-type: application/json", "transfer-encoding: chunked"];
  const sockets = Array.from({ length: 5 }, () => send(http.url, headOf(post, token, chunked)));
  const statuses = collect(sockets);
  await expect.poll(() => [...statuses.values()]).toEqual([429]);
  const body = JSON.stringify(job(T));
  sockets
    .find((socket) => !statuses.has(socket))
    ?.write(`${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`);
  await expect.poll(() => [...statuses.values()]).toEqual([429, 200]);
  expect(await enqueue(http, token, T)).toBe(200);
  for (const socket of sockets) socket.destroy();
});

test("a body of the longest size is accepted, also if it is longer than the part of a caller", async ({
  db,
}) => {
  await using http = await startServer(db, { maxBodyBytes: 40 * mib });
  const body = `${JSON.stringify(job(T))}${" ".repeat(36 * mib)}`;
  const token = await appToken(T);
  const response = await http.request("/rest/v1/rpc/jobforge_enqueue_job", { token, body });
  expect(response.status).toBe(200);
});

test("without a token, a body is never read", async ({ http }) => {
  for (const [request, status] of [
    [post, 401],
    ["POST /v1/jobs", 401],
    ["POST /v1/openapi.json", 405],
    ["POST /nothing", 404],
    ["POST /api/jobs/tick", 404],
  ] as const) {
    const socket = send(http.url, headOf(request, undefined, ["transfer-encoding: chunked"]));
    expect([request, await statusOf(socket)]).toEqual([request, status]);
    socket.destroy();
  }
});

/** Enqueues jobs whose payloads together have almost 16 MiB. */
async function enqueueLarge(db: TestDatabase): Promise<void> {
  await db.query(
    "select jobforge_enqueue_job($1, 'a', to_jsonb(repeat('a', $2))) from generate_series(1, 15)",
    [T, mib - 100],
  );
}

const readAll = "GET /rest/v1/jobforge_jobs?select=payload&limit=15";

test("a caller that does not read its answers is refused until they are gone, and others are served", async ({
  db,
  http,
}) => {
  await enqueueLarge(db);
  const [mine, theirs] = [await appToken(T), await appToken(U)];
  const sockets: Socket[] = [];
  const statuses: number[] = [];
  for (let count = 0; count < 5; count += 1) {
    const socket = send(http.url, headOf(readAll, mine));
    sockets.push(socket);
    statuses.push(await statusOf(socket));
  }
  expect(statuses).toEqual([200, 200, 200, 429, 429]);
  expect((await http.request("/v1/stats", { token: theirs })).status).toBe(200);
  for (const socket of sockets) socket.destroy();
  await expect.poll(async () => (await http.request("/v1/stats", { token: mine })).status).toBe(200);
});

test("answers that wait for earlier ones of their connection count, too", async ({ db, http }) => {
  await enqueueLarge(db);
  const token = await appToken(T);
  const socket = send(http.url, headOf(readAll, token).repeat(4));
  await once(socket, "readable");
  const status = async (): Promise<number> => (await http.request("/v1/stats", { token })).status;
  await expect.poll(status).toBe(429);
  socket.destroy();
  await expect.poll(status).toBe(200);
});

plain("a connection whose client stops to read is closed, and gives its bytes back", async () => {
  const budget = new ByteBudget({ what: "tests", size: 1 });
  const app = new Hono<{ Bindings: HttpBindings }>();
  app.get("/", (c) => {
    watchAnswer(c.env.outgoing as never, (bytes) => budget.charge("a", bytes), 200);
    return c.text("a".repeat(15 * mib));
  });
  const server = createAdaptorServer({ fetch: app.fetch }) as Server;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/`;
  const accepted = once(server, "connection") as Promise<[Socket]>;
  const socket = send(url, headOf("GET /", undefined));
  const [connection] = await accepted;
  await once(connection, "close");
  expect(budget.total).toBe(0);
  socket.destroy();
  server.closeAllConnections();
  server.close();
});
