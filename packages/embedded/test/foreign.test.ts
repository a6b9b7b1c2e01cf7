import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findEmbedded, startEmbedded } from "../src/index.ts";
import { failure, query, start, temporaryDirectory } from "./support/world.ts";

test("data without our mark is left alone", async () => {
  const directory = temporaryDirectory();
  const data = join(directory, "postgres-18", "data");
  mkdirSync(data, { recursive: true });
  writeFileSync(join(data, "PG_VERSION"), "18\n");
  const error = await failure(startEmbedded({ directory }));
  expect(error.code).toBe("foreign_data");
  expect(error.message).toContain(data);
  expect(readdirSync(data)).toEqual(["PG_VERSION"]);
  expect(findEmbedded({ directory })).toBeUndefined();
});

test("a directory that is itself a PostgreSQL data directory is left alone", async () => {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, "PG_VERSION"), "18\n");
  expect((await failure(startEmbedded({ directory }))).code).toBe("foreign_data");
  expect(readdirSync(directory)).toEqual(["PG_VERSION"]);
});

test("a running server that is not ours is neither adopted nor stopped", async () => {
  const [theirs, ours] = [temporaryDirectory(), temporaryDirectory()];
  const server = await start({ directory: theirs });
  const data = join(ours, "postgres-18", "data");
  mkdirSync(data, { recursive: true });
  for (const file of ["PG_VERSION", "postmaster.pid", "postmaster.opts"]) {
    cpSync(join(theirs, "postgres-18", "data", file), join(data, file));
  }
  expect((await failure(startEmbedded({ directory: ours }))).code).toBe("foreign_data");
  expect(await query(server.url, "select 1 as one")).toEqual([{ one: 1 }]);
});

test("a lost password gives an error that says so, and the data is kept", async () => {
  const directory = temporaryDirectory();
  await (await start({ directory })).stop();
  const file = join(directory, "postgres-18", "password");
  rmSync(file);
  const error = await failure(startEmbedded({ directory }));
  expect(error.code).toBe("password_missing");
  expect(error.message).toContain(file);
  expect(existsSync(join(directory, "postgres-18", "data", "PG_VERSION"))).toBe(true);
});
