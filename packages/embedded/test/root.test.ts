import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { startEmbedded } from "../src/index.ts";
import { describeAsRoot, failure, query, start, temporaryDirectory } from "./support/world.ts";

const nobodyUid = 65534;

/** A directory that only root can enter, and a shelter for the files that the server's user must reach. */
function closedDirectory(): { closed: string; directory: string; shelter: string } {
  const closed = temporaryDirectory(0o700);
  const shelter = join(temporaryDirectory(), "shelter");
  vi.stubEnv("JOBFORGE_EMBEDDED_HOME", shelter);
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  return { closed, directory: join(closed, "checkout", ".jobforge"), shelter };
}

/** The shelter may also contain programs, if the checkout that runs the tests is closed itself. */
function dataIn(shelter: string): string[] {
  return readdirSync(shelter)
    .filter((name) => name.startsWith("postgres-"))
    .map((name) => join(shelter, name));
}

function uidOf(pid: number): number {
  return Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
}

async function dataOf(url: string): Promise<string> {
  const [row] = await query(url, "select current_setting('data_directory') as path");
  return String(row === undefined ? "" : Object.values(row)[0]);
}

describeAsRoot("as root", () => {
  test("the server runs as the user `nobody`, who owns the data and nothing else", async () => {
    const directory = temporaryDirectory();
    const server = await start({ directory });
    expect(uidOf(server.pid)).toBe(nobodyUid);
    const home = join(directory, "postgres-18");
    const owners = readdirSync(home).map((name) => [name, statSync(join(home, name)).uid]);
    expect(owners.filter(([, uid]) => uid !== 0)).toEqual([["data", nobodyUid]]);
    const groups = /^Groups:[ \t]*(.*)$/m.exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))?.[1];
    expect(groups?.trim()).toBe("");
  });

  test("the server does not see this process's environment", async () => {
    vi.stubEnv("SECRET_TOKEN", "do not tell");
    onTestFinished(() => {
      vi.unstubAllEnvs();
    });
    const server = await start({ directory: temporaryDirectory() });
    expect(readFileSync(`/proc/${server.pid}/environ`, "utf8")).not.toContain("do not tell");
  });

  test("below a closed directory, data is stored elsewhere and found again, and no mode is loosened", async () => {
    const { closed, directory, shelter } = closedDirectory();
    const first = await start({ directory });
    await query(first.url, "create table kept as select 1 as one");
    const data = await dataOf(first.url);
    expect(dirname(data)).toBe(shelter);
    expect(statSync(data)).toMatchObject({ uid: nobodyUid, mode: 0o040700 });
    expect(statSync(shelter)).toMatchObject({ uid: 0, mode: 0o040755 });
    expect(statSync(closed).mode & 0o777).toBe(0o700);
    expect(statSync(join(directory, "postgres-18", "password"))).toMatchObject({ uid: 0, mode: 0o100600 });
    await first.stop();

    const second = await start({ directory });
    expect(await query(second.url, "select one from kept")).toEqual([{ one: 1 }]);
    expect(dataIn(shelter)).toEqual([data]);
  });

  test("a strict umask does not lock the server out of directories we create", async () => {
    const before = process.umask(0o077);
    onTestFinished(() => {
      process.umask(before);
    });
    const server = await start({ directory: join(temporaryDirectory(), "deep", ".jobforge") });
    expect(await dataOf(server.url)).toContain(join("deep", ".jobforge", "postgres-18", "data"));
  });

  test("with data elsewhere, a copied directory gets its own data and a moved one keeps its data", async () => {
    const { closed, directory } = closedDirectory();
    const original = await start({ directory });
    const data = await dataOf(original.url);
    const copied = join(closed, "copy");
    cpSync(directory, copied, { recursive: true });
    const copy = await start({ directory: copied });
    expect(await dataOf(copy.url)).not.toBe(data);
    expect(copy.adopted).toBe(false);
    await original.stop();

    const moved = join(closed, "moved");
    renameSync(directory, moved);
    expect(await dataOf((await start({ directory: moved })).url)).toBe(data);
  });

  test("temporary data whose directory is gone is removed, other data is kept", async () => {
    const { directory, shelter } = closedDirectory();
    const gone = await start({ directory });
    const data = await dataOf(gone.url);
    await gone.stop();
    renameSync(dirname(directory), `${dirname(directory)}-gone`);
    const next = await start({ directory });
    expect(existsSync(data)).toBe(false);
    expect(dataIn(shelter)).toHaveLength(1);
    expect(await query(next.url, "select 1 as one")).toEqual([{ one: 1 }]);
  });

  test("if existing data can no longer be reached, the error says so", async () => {
    const parent = temporaryDirectory();
    const directory = join(parent, ".jobforge");
    await (await start({ directory })).stop();
    chmodSync(parent, 0o700);
    const error = await failure(startEmbedded({ directory }));
    expect(error.code).toBe("unreadable");
    expect(error.message).toContain("can no longer enter");
  });

  test.each([
    ["belongs to another user", (path: string) => chownSync(path, 12345, 12345), "belongs to user 12345"],
    ["is writable by others", (path: string) => chmodSync(path, 0o777), "others can write to it"],
  ])("a shelter that %s is refused", async (_, prepare, reason) => {
    const { directory, shelter } = closedDirectory();
    mkdirSync(shelter);
    prepare(shelter);
    const error = await failure(startEmbedded({ directory }));
    expect(error.code).toBe("unreadable");
    expect(error.message).toContain(reason);
    expect(readdirSync(shelter)).toEqual([]);
  });
});
