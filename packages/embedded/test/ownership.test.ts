import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startEmbedded } from "../src/index.ts";
import { claimOwnership } from "../src/ownership.ts";
import { identityOf } from "../src/processes.ts";
import { buildOnce, claimantPath } from "./support/build.ts";
import { runDriver } from "./support/child.ts";
import {
  failure,
  password,
  query,
  quick,
  start,
  temporaryDirectory,
  usedDirectory,
} from "./support/world.ts";

test("the error of a second start names the owner, the address and what to do", async () => {
  const directory = await usedDirectory();
  const child = await runDriver({ directory, settings: quick });
  const { port, url } = await child.started();
  const error = await failure(startEmbedded({ directory }));
  expect(error.code).toBe("already_running");
  expect(error.message).toContain(`Process ${child.process.pid} `);
  expect(error.message).toContain(`postgres://postgres@127.0.0.1:${port}/postgres`);
  expect(error.hint).toContain(`end process ${child.process.pid}`);
  expect(error.message + error.hint).not.toContain(password(directory));
  expect(await query(url, "select 1 as one")).toEqual([{ one: 1 }]);
});

test("a second start in the same process is refused, even while the first is starting", async () => {
  const directory = temporaryDirectory();
  const first = start({ directory });
  const error = await failure(startEmbedded({ directory }));
  expect(error.code).toBe("already_running");
  expect(error.message).toContain("is starting");
  await first;
});

test("an unrelated process with the id of the dead owner is not mistaken for it", async () => {
  const directory = await usedDirectory();
  const server = await start({ directory });
  await server.stop();
  const home = join(directory, "postgres-18");
  const [claim = ""] = readdirSync(home).filter((name) => name.startsWith("owner."));
  const { startedAt } = identityOf(process.pid);
  expect(startedAt).toBeTypeOf("string");
  const stale = { pid: process.pid, startedAt: `${startedAt}0`, port: server.port, released: false };
  writeFileSync(join(home, claim), JSON.stringify(stale));
  expect((await start({ directory })).adopted).toBe(false);
});

test("an incomplete owner file does not lock the directory forever", () => {
  const home = temporaryDirectory();
  writeFileSync(join(home, "owner.4.json"), '{"pid": 1');
  const claim = claimOwnership(home);
  expect(claim).not.toHaveProperty("heldBy");
  expect(readdirSync(home)).toEqual(["owner.5.json"]);
});

test("only one process holds a directory at a time when many claim it repeatedly and die holding it", async () => {
  const home = temporaryDirectory();
  const module = join(await buildOnce(), "ownership.js");
  const claimants = Array.from({ length: 6 }, (_, index) =>
    spawn(process.execPath, [claimantPath, module, home, "25", index % 2 ? "release" : "die"], {
      stdio: ["ignore", "ignore", "pipe"],
    }),
  );
  const ends = await Promise.all(
    claimants.map(async (child) => {
      let errors = "";
      child.stderr.on("data", (chunk: Buffer) => {
        errors += chunk.toString("utf8");
      });
      const [, signal] = await once(child, "close");
      return { signal, errors };
    }),
  );
  expect(ends).toEqual(claimants.map(() => ({ signal: "SIGKILL", errors: "" })));
  expect(existsSync(join(home, "held"))).toBe(false);
  expect(readdirSync(home)).toEqual(["owner.150.json"]);
});

test("of several processes that start at once after a crash, one wins and the others get an error", async () => {
  const directory = await usedDirectory();
  const crashed = await runDriver({ directory, settings: quick });
  const { pid } = await crashed.started();
  crashed.process.kill("SIGKILL");
  await crashed.ended;

  const children = await Promise.all([1, 2, 3].map(() => runDriver({ directory, settings: quick })));
  const outcomes = await Promise.all(children.map((child) => child.said("started", "failed")));
  expect(outcomes.filter(({ code }) => code === "already_running")).toHaveLength(2);
  expect(outcomes).toContainEqual(expect.objectContaining({ pid, adopted: true }));
});

test("the owner file contains no secret", async () => {
  const directory = await usedDirectory();
  await start({ directory });
  const home = join(directory, "postgres-18");
  const claims = readdirSync(home).filter((name) => name.startsWith("owner."));
  expect(claims).toHaveLength(1);
  expect(readFileSync(join(home, claims[0] ?? ""), "utf8")).not.toContain(password(directory));
});
