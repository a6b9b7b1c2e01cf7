import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { isAlive } from "../src/processes.ts";
import { runDriver, type Started } from "./support/child.ts";
import { log, query, quick, start, temporaryDirectory, usedDirectory } from "./support/world.ts";

/** A server whose owner was killed before it could stop the server. */
async function orphan(directory: string): Promise<Started> {
  const child = await runDriver({ directory, settings: quick });
  const started = await child.started();
  child.process.kill("SIGKILL");
  await child.ended;
  expect(isAlive(started.pid)).toBe(true);
  return started;
}

const dataOf = (directory: string): string => join(directory, "postgres-18", "data");

test("a server whose owner was killed is taken over, and stopped by its new owner", async () => {
  const directory = await usedDirectory();
  const left = await orphan(directory);
  const server = await start({ directory });
  expect(server).toMatchObject({ adopted: true, pid: left.pid, port: left.port, url: left.url });
  expect(await query(server.url, "select 1 as one")).toEqual([{ one: 1 }]);
  await server.stop();
  expect(isAlive(left.pid)).toBe(false);
  expect(log(directory)).toContain("database system is shut down");
});

test("a server left running with other settings is restarted with the requested settings", async () => {
  const directory = await usedDirectory();
  const left = await orphan(directory);
  await query(left.url, "create table kept as select 1 as one");
  const server = await start({ directory, settings: { fsync: "off", work_mem: "5MB" } });
  expect(server.adopted).toBe(false);
  expect(isAlive(left.pid)).toBe(false);
  const [row] = await query(server.url, "select current_setting('work_mem') as mem, one from kept");
  expect(row).toEqual({ mem: "5MB", one: 1 });
});

test("a server left running on another port is restarted on the fixed port", async () => {
  const directory = await usedDirectory();
  const left = await orphan(directory);
  const same = await start({ directory, port: left.port });
  expect(same.adopted).toBe(true);
  await same.stop();
  const again = await orphan(directory);
  const other = await start({ directory: await usedDirectory() });
  await other.stop();
  const moved = await start({ directory, port: other.port });
  expect(moved).toMatchObject({ adopted: false, port: other.port });
  expect(isAlive(again.pid)).toBe(false);
});

test("after a crash, the pid file names a dead process and the next start recovers the data", async () => {
  const directory = await usedDirectory();
  const first = await start({ directory });
  await query(first.url, "create table kept as select 1 as one");
  process.kill(first.pid, "SIGKILL");
  const [, second] = await Promise.all([first.stop(), first.stop().then(() => start({ directory }))]);
  expect(second.adopted).toBe(false);
  expect(await query(second.url, "select one from kept")).toEqual([{ one: 1 }]);
});

test("an unrelated process with the id in postmaster.pid neither blocks the start nor is touched", async () => {
  const directory = await usedDirectory();
  const first = await start({ directory });
  const data = dataOf(directory);
  const pidFile = readFileSync(join(data, "postmaster.pid"), "utf8");
  await first.stop();
  // The process has the same user as the server: only then would PostgreSQL itself refuse to start.
  const { uid, gid } = statSync(data);
  const stranger = spawn("sleep", ["600"], process.getuid?.() === 0 ? { uid, gid } : {});
  onTestFinished(() => {
    stranger.kill("SIGKILL");
  });
  await once(stranger, "spawn");
  writeFileSync(join(data, "postmaster.pid"), pidFile.replace(/^\d+/, String(stranger.pid)));

  const second = await start({ directory });
  expect(second).toMatchObject({ adopted: false });
  await second.stop();
  expect(isAlive(stranger.pid ?? 0)).toBe(true);
});

test("a postmaster.pid that belongs to another data directory harms neither of the two", async () => {
  const [here, there] = [await usedDirectory(), await usedDirectory()];
  const other = await start({ directory: there });
  await (await start({ directory: here })).stop();
  copyFileSync(join(dataOf(there), "postmaster.pid"), join(dataOf(here), "postmaster.pid"));

  const server = await start({ directory: here });
  expect(server.adopted).toBe(false);
  expect(server.pid).not.toBe(other.pid);
  await server.stop();
  expect(await query(other.url, "select 1 as one")).toEqual([{ one: 1 }]);
});

test("the next start succeeds after one that was killed while creating the data", async () => {
  const directory = temporaryDirectory();
  const child = await runDriver({ directory, settings: quick }, { behaviour: "killed during init" });
  expect((await child.ended).signal).toBe("SIGKILL");
  const home = join(directory, "postgres-18");
  expect(readdirSync(home).some((name) => name.startsWith("data.init-"))).toBe(true);
  expect(existsSync(dataOf(directory))).toBe(false);

  const server = await start({ directory });
  expect(await query(server.url, "select 1 as one")).toEqual([{ one: 1 }]);
  await server.stop();
  expect(existsSync(dataOf(directory))).toBe(true);
});
