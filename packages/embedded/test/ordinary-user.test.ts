import { chownSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isAlive } from "../src/processes.ts";
import { runDriver } from "./support/child.ts";
import {
  type Checkout,
  describeAsRoot,
  installCheckout,
  query,
  quick,
  start,
  temporaryDirectory,
} from "./support/world.ts";

/** A system user that exists on every Unix. */
const daemonUid = 1;
const namelessUid = 12345;

interface Account {
  readonly checkout: Checkout;
  readonly directory: string;
  readonly places: { cwd: string; bundle: string; driver: string; uid: number };
}

/** A user with a private home directory, and our package in a place that all users can read. */
async function account(uid: number): Promise<Account> {
  const checkout = await installCheckout(temporaryDirectory());
  const home = temporaryDirectory(0o700);
  chownSync(home, uid, uid);
  const { bundle, driver } = checkout;
  return { checkout, directory: join(home, ".jobforge"), places: { cwd: home, bundle, driver, uid } };
}

function uidOf(pid: number): number {
  return Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
}

describeAsRoot("as an ordinary user", () => {
  test("the server runs as that user, stops with its process, and is taken over after a crash", async () => {
    const { directory, places } = await account(daemonUid);
    const first = await runDriver({ settings: quick }, places);
    const started = await first.started();
    expect(started.directory).toBe(directory);
    expect(uidOf(started.pid)).toBe(daemonUid);
    expect(statSync(join(directory, "postgres-18"))).toMatchObject({ uid: daemonUid, mode: 0o040700 });
    expect(statSync(join(directory, "postgres-18", "password"))).toMatchObject({
      uid: daemonUid,
      mode: 0o100600,
    });
    expect(await query(started.url, "select 1 as one")).toEqual([{ one: 1 }]);
    first.process.kill("SIGKILL");
    await first.ended;

    const second = await runDriver({ settings: quick }, places);
    expect(await second.started()).toMatchObject({ adopted: true, pid: started.pid });
    second.process.kill("SIGTERM");
    expect((await second.ended).signal).toBe("SIGTERM");
    expect(isAlive(started.pid)).toBe(false);
  });

  test("root runs the server as the user who owns the data, and that user can run it again", async () => {
    const { directory, places } = await account(daemonUid);
    const before = await runDriver({ settings: quick }, { ...places, behaviour: "end" });
    await before.ended;
    const asRoot = await start({ directory });
    expect(uidOf(asRoot.pid)).toBe(daemonUid);
    await asRoot.stop();
    const after = await runDriver({ settings: quick }, places);
    expect(await query((await after.started()).url, "select 1 as one")).toEqual([{ one: 1 }]);
  });

  test("a directory that root created is refused, with a hint", async () => {
    const { places } = await account(daemonUid);
    const directory = temporaryDirectory();
    await (await start({ directory })).stop();
    const error = await (await runDriver({ directory }, places)).failed();
    expect(error.code).toBe("unreadable");
    expect(error.hint).toContain("user who created it");
  });

  test("initdb refuses a user without a name, and the error gives the reason", async () => {
    const { places } = await account(namelessUid);
    const error = await (await runDriver({}, places)).failed();
    expect(error.code).toBe("user_unknown");
    expect(error.message).toContain(String(namelessUid));
  });
});
