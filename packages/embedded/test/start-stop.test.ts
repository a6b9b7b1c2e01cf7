import { existsSync, readFileSync, statSync } from "node:fs";
import { connect } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findEmbedded, startEmbedded } from "../src/index.ts";
import { isAlive } from "../src/processes.ts";
import { failure, log, password, query, start, temporaryDirectory } from "./support/world.ts";

test("starts, keeps its data after a stop, and starts again on the same port", async () => {
  const directory = join(temporaryDirectory(), `a "strange" path, isn't it: ü $HOME`);
  const first = await start({ directory });
  expect(first.adopted).toBe(false);
  expect(first.directory).toBe(directory);
  await query(first.url, "create database shop");
  await query(first.urlFor("shop"), "create table kept as select 42 as answer");
  await first.stop();
  expect(isAlive(first.pid)).toBe(false);
  expect(log(directory).trimEnd()).toMatch(/database system is shut down$/);

  const second = await start({ directory });
  expect(second.adopted).toBe(false);
  expect(second.port).toBe(first.port);
  expect(second.url).toBe(first.url);
  expect(await query(second.urlFor("shop"), "select answer from kept")).toEqual([{ answer: 42 }]);
});

test("stop is idempotent and waits, even when called twice at once", async () => {
  const server = await start({ directory: temporaryDirectory() });
  await Promise.all([server.stop(), server.stop()]);
  await server.stop();
  expect(isAlive(server.pid)).toBe(false);
});

test("stops at the end of an `await using` block, and leaves no listeners behind", async () => {
  const listeners = process.listenerCount("SIGTERM");
  let pid = 0;
  {
    await using server = await start({ directory: temporaryDirectory() });
    pid = server.pid;
    expect(process.listenerCount("SIGTERM")).toBe(listeners + 1);
  }
  expect(isAlive(pid)).toBe(false);
  expect(process.listenerCount("SIGTERM")).toBe(listeners);
});

test("creates UTF-8 databases that sort by code point and are durable by default", async () => {
  const server = await startEmbedded({ directory: temporaryDirectory() });
  try {
    const [row] = await query(
      server.url,
      `select current_setting('fsync') as fsync, current_setting('server_encoding') as encoding,
              'Z' < 'a' as by_code_point, upper('é') as upper,
              (select rolsuper from pg_roles where rolname = current_user) as superuser`,
    );
    expect(row).toEqual({ fsync: "on", encoding: "UTF8", by_code_point: true, upper: "É", superuser: true });
  } finally {
    await server.stop();
  }
});

test("accepts connections only with the password and only on 127.0.0.1", async () => {
  const directory = temporaryDirectory();
  const server = await start({ directory });
  const [row] = await query(
    server.url,
    `select current_setting('listen_addresses') as listens, current_setting('unix_socket_directories') as sockets,
            (select string_agg(distinct auth_method, ',') from pg_hba_file_rules) as methods,
            (select rolpassword like 'SCRAM-SHA-256$%' from pg_authid where rolname = 'postgres') as scram`,
  );
  expect(row).toEqual({ listens: "127.0.0.1", sockets: "", methods: "scram-sha-256", scram: true });
  const wrong = server.url.replace(password(directory), "wrong");
  await expect(query(wrong, "select 1")).rejects.toMatchObject({ code: "28P01" });
  for (const address of otherAddresses()) expect(await accepts(address, server.port)).toBe(false);
});

test("keeps the password and the log private, out of messages and out of git", async () => {
  const directory = join(temporaryDirectory(), "new", ".jobforge");
  const messages: string[] = [];
  await start({ directory, onProgress: (message) => messages.push(message) });
  const home = join(directory, "postgres-18");
  expect(statSync(join(home, "password")).mode & 0o777).toBe(0o600);
  expect(statSync(join(home, "server.log")).mode & 0o777).toBe(0o600);
  expect(statSync(join(home, "data")).mode & 0o777).toBe(0o700);
  expect(readFileSync(join(directory, ".gitignore"), "utf8")).toBe("*\n");
  expect(messages.length).toBeGreaterThan(0);
  expect(messages.join("\n") + log(directory)).not.toContain(password(directory));
});

test("passes settings to the server, and refuses those that would hide it", async () => {
  const directory = temporaryDirectory();
  const server = await start({
    directory,
    settings: { fsync: "off", work_mem: "7MB", "jobforge.note": "a b" },
  });
  const [row] = await query(
    server.url,
    "select current_setting('work_mem') as mem, current_setting('jobforge.note') as note",
  );
  expect(row).toEqual({ mem: "7MB", note: "a b" });
  for (const name of ["port", "listen_addresses", "Data_Directory", "--help", "a=b"]) {
    const error = await failure(startEmbedded({ directory, settings: { [name]: "1" } }));
    expect(error.code).toBe("invalid_option");
  }
  expect((await failure(startEmbedded({ directory, port: 70_000 }))).code).toBe("invalid_option");
});

test("quotes the log if the server does not start, and frees the directory", async () => {
  const directory = temporaryDirectory();
  const error = await failure(start({ directory, settings: { fsync: "off", shared_buffers: "plenty" } }));
  expect(error.code).toBe("start_failed");
  expect(error.message).toContain('invalid value for parameter "shared_buffers": "plenty"');
  expect(error.hint).toContain(join(directory, "postgres-18", "server.log"));
  expect(error.message + error.hint).not.toContain(password(directory));
  const server = await start({ directory });
  expect(await query(server.url, "select 1 as one")).toEqual([{ one: 1 }]);
});

test("runs version 15 next to version 18 in the same directory", async () => {
  const directory = temporaryDirectory();
  const [current, floor] = await Promise.all([start({ directory }), start({ directory, version: 15 })]);
  const version = "select current_setting('server_version_num')::int / 10000 as major";
  expect(await query(current.url, version)).toEqual([{ major: 18 }]);
  expect(await query(floor.url, version)).toEqual([{ major: 15 }]);
});

test("finds a running server for a process that only wants to connect", async () => {
  const directory = temporaryDirectory();
  expect(findEmbedded({ directory })).toBeUndefined();
  expect(existsSync(join(directory, "postgres-18"))).toBe(false);
  const server = await start({ directory });
  expect(findEmbedded({ directory })).toMatchObject({ url: server.url, pid: server.pid, port: server.port });
  expect(findEmbedded({ directory, version: 15 })).toBeUndefined();
  await server.stop();
  expect(findEmbedded({ directory })).toBeUndefined();
});

function otherAddresses(): string[] {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return all
    .filter(({ address, scopeid }) => address !== "127.0.0.1" && !scopeid)
    .map(({ address }) => address);
}

function accepts(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
