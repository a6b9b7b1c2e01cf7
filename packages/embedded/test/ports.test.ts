import { once } from "node:events";
import { createServer } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { startEmbedded } from "../src/index.ts";
import * as ports from "../src/ports.ts";
import { failure, log, query, start, usedDirectory } from "./support/world.ts";

vi.mock(import("../src/ports.ts"), { spy: true });

/** Takes a port, as another program would. */
async function occupy(port = 0): Promise<number> {
  const server = createServer();
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

test("a fixed port is used, and the start fails if it is taken", async () => {
  const directory = await usedDirectory();
  const port = await ports.freePort();
  const server = await start({ directory, port });
  expect(server.port).toBe(port);
  await server.stop();

  await occupy(port);
  const error = await failure(startEmbedded({ directory, port }));
  expect(error.code).toBe("port_taken");
  expect(error.message).toContain(String(port));
});

test("another port is used if the remembered one is taken", async () => {
  const directory = await usedDirectory();
  const first = await start({ directory });
  await first.stop();
  await occupy(first.port);
  const second = await start({ directory });
  expect(second.port).not.toBe(first.port);
  expect(await query(second.url, "select 1 as one")).toEqual([{ one: 1 }]);
});

test("a port that is taken between choosing and using it is replaced by another", async () => {
  const directory = await usedDirectory();
  const taken = await occupy();
  vi.mocked(ports.freePort).mockResolvedValueOnce(taken).mockResolvedValueOnce(taken);
  const server = await start({ directory });
  expect(server.port).not.toBe(taken);
  expect(log(directory).match(/could not bind/g)).toHaveLength(2);
});

test("a fixed port that is taken between checking and using it gives the same error", async () => {
  const directory = await usedDirectory();
  const taken = await occupy();
  vi.mocked(ports.isFree).mockResolvedValueOnce(true);
  expect((await failure(startEmbedded({ directory, port: taken }))).code).toBe("port_taken");
});

test("several servers start at once, each on its own port", async () => {
  const servers = await Promise.all([1, 2, 3].map(async () => start({ directory: await usedDirectory() })));
  expect(new Set(servers.map(({ port }) => port)).size).toBe(3);
});
