import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { isAlive } from "../src/processes.ts";
import { type Child, runDriver, type Started } from "./support/child.ts";
import { log, query, quick, start, temporaryDirectory, usedDirectory } from "./support/world.ts";

interface Running {
  readonly child: Child;
  readonly server: Started;
}

async function run(behaviour: string, stopOnExit = true): Promise<Running> {
  const directory = await usedDirectory();
  const child = await runDriver({ directory, settings: quick, stopOnExit }, { behaviour });
  return { child, server: await child.started() };
}

function expectCleanStop({ pid, directory }: Started): void {
  expect(isAlive(pid)).toBe(false);
  expect(existsSync(join(directory, "postgres-18", "data", "postmaster.pid"))).toBe(false);
  expect(log(directory).trimEnd()).toMatch(/database system is shut down$/);
}

describe("the server is stopped cleanly when the process", () => {
  test.each([
    ["ends by itself", "end", { code: 0, signal: null }],
    ["calls process.exit()", "exit", { code: 3, signal: null }],
    ["throws", "throw", { code: 1, signal: null }],
    ["has an unhandled rejection", "reject", { code: 1, signal: null }],
  ])("%s", async (_, behaviour, end) => {
    const { child, server } = await run(behaviour);
    expect(await child.ended).toEqual(end);
    expectCleanStop(server);
  });

  test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)("receives %s, which still ends it", async (signal) => {
    const { child, server } = await run("wait");
    child.process.kill(signal);
    expect(await child.ended).toEqual({ code: null, signal });
    expectCleanStop(server);
  });

  test("receives a signal while a client is connected", async () => {
    const { child, server } = await run("wait");
    const interrupted = expect(query(server.url, "select pg_sleep(600)")).rejects.toMatchObject({
      code: "57P01",
    });
    await untilBusy(server.url);
    child.process.kill("SIGTERM");
    await interrupted;
    await child.ended;
    expectCleanStop(server);
  });

  test("receives a signal and a library listens that ends the process only if no other listener does", async () => {
    const { child, server } = await run("signal-exit");
    child.process.kill("SIGTERM");
    expect(await child.ended).toEqual({ code: null, signal: "SIGTERM" });
    expectCleanStop(server);
  });
});

test.each(["own handler", "once handler"])(
  "an application with its %s decides itself when to end",
  async (behaviour) => {
    const { child, server } = await run(behaviour);
    child.process.kill("SIGTERM");
    await child.said("handled");
    expect(await query(server.url, "select 1 as one")).toEqual([{ one: 1 }]);
    child.process.stdin?.write("quit\n");
    expect(await child.ended).toEqual({ code: 7, signal: null });
    expectCleanStop(server);
  },
);

test("a process that is terminated while it creates the data leaves nothing running", async () => {
  const directory = temporaryDirectory();
  const child = await runDriver({ directory, settings: quick }, { behaviour: "terminated during init" });
  expect((await child.ended).signal).toBe("SIGTERM");
  const server = await start({ directory });
  expect(server.adopted).toBe(false);
});

test("with stopOnExit: false the server outlives its process and is taken over later", async () => {
  const { child, server } = await run("exit", false);
  await child.ended;
  expect(await query(server.url, "select 1 as one")).toEqual([{ one: 1 }]);
  const adopted = await start({ directory: server.directory });
  expect(adopted).toMatchObject({ adopted: true, pid: server.pid });
});

/** Resolves when the other client's query is running, which the test needs. */
async function untilBusy(url: string): Promise<void> {
  const count =
    "select count(*)::int as n from pg_stat_activity where query like 'select pg_sleep%' and state = 'active'";
  for (;;) {
    const [row] = await query(url, count);
    if (row !== undefined && Object.values(row).includes(1)) return;
  }
}
