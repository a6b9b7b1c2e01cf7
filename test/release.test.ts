/** The release script, in a copy of this repository. */
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { packageFolders } from "./package.ts";

const run = promisify(execFile);
const repository = join(import.meta.dirname, "..");
const changelog =
  "# Changelog\n\n## 7.0.0 (unreleased)\n\n- [Release] First.\n\n## 6.0.0\n\n- [Old] Entry.\n";
let copy = "";

async function git(...args: string[]): Promise<string> {
  const identity = ["-c", "user.name=Test", "-c", "user.email=test@example.com"];
  return (await run("git", [...identity, ...args], { cwd: copy })).stdout;
}

async function release(...args: string[]): Promise<{ readonly code: number; readonly text: string }> {
  const { CI: _, ...env } = process.env;
  try {
    const { stdout, stderr } = await run(process.execPath, ["scripts/release.js", ...args], {
      cwd: copy,
      env,
    });
    return { code: 0, text: stdout + stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, text: stdout + stderr };
  }
}

beforeAll(async () => {
  copy = await mkdtemp(join(tmpdir(), "jobforge-release-"));
  const listed = await run("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z"], {
    cwd: repository,
    maxBuffer: 2 ** 26,
  });
  const needed = /^(sql\/(?!test)|conformance\/[\w-]+\.json$|packages\/[\w-]+\/(?!test)|scripts\/|[\w.-]+$)/;
  for (const file of listed.stdout.split("\0").filter((name) => needed.test(name))) {
    await mkdir(dirname(join(copy, file)), { recursive: true });
    await cp(join(repository, file), join(copy, file)).catch((error: NodeJS.ErrnoException) => {
      // Deleted, but not yet committed.
      if (error.code !== "ENOENT") throw error;
    });
  }
  await writeFile(join(copy, "CHANGELOG.md"), changelog);
  await mkdir(join(copy, "node_modules"));
  for (const entry of await readdir(join(repository, "node_modules")))
    if (!entry.startsWith(".jobforge"))
      await symlink(join(repository, "node_modules", entry), join(copy, "node_modules", entry));
  await git("init", "--quiet");
  await git("add", "--all");
  await git("commit", "--quiet", "--message", "Start");
}, 120_000);

afterAll(() => rm(copy, { recursive: true, force: true }));

test("a rehearsal packs every package in order, and changes nothing", { timeout: 900_000 }, async () => {
  const { code, text } = await release("7.0.0", "--skip-tests");
  expect(code, text).toBe(0);
  const packed = [...text.matchAll(/^• Packing (\S+) …$/gm)].map(([, name]) => name);
  expect(new Set(packed)).toEqual(new Set(Object.keys(packageFolders)));
  for (const [earlier, later] of [
    ["@jobforge/sdk-ts", "@jobforge/worker-ts"],
    ["@jobforge/worker-ts", "@jobforge/testing"],
    ["@jobforge/embedded", "@jobforge/testing"],
    ["@jobforge/testing", "jobforge"],
    ["@jobforge/server", "jobforge"],
  ])
    expect(packed.indexOf(earlier), `${earlier} before ${later}`).toBeLessThan(packed.indexOf(later));
  // The build is the only trace.
  expect(await readFile(join(copy, "sql/dist/index.js"), "utf8")).toContain('"7.0.0"');
  expect(await git("status", "--porcelain")).toBe("");
  expect(await git("tag", "--list")).toBe("");
  expect(JSON.parse(await readFile(join(copy, "sql/package.json"), "utf8")).version).not.toBe("7.0.0");
});

test("a release that is not ready is refused with the reason", async () => {
  const refused = async (reason: string, ...args: string[]): Promise<void> => {
    const { code, text } = await release(...args);
    expect(text).toContain(reason);
    expect(code).toBe(1);
  };
  await refused("Usage:");
  await refused("Usage:", "7.0.0", "--pubish");
  await refused("is not a valid version", "7.0");
  await refused("which is newer", "0.0.1");
  await refused('CHANGELOG.md needs a section "## 8.0.0 (unreleased)"', "8.0.0", "--skip-tests");
  await refused("A release is always tested", "7.0.0", "--publish", "--skip-tests");
  await refused('npm needs "repository"', "7.0.0", "--publish");
  await git("tag", "v7.0.0");
  await refused("The tag v7.0.0 exists", "7.0.0", "--skip-tests");
  await git("tag", "--delete", "v7.0.0");
  await writeFile(join(copy, "left-over.txt"), "");
  await refused("left-over.txt", "7.0.0", "--skip-tests");
  await rm(join(copy, "left-over.txt"));
});

test("a release with a failing test is refused", async () => {
  const manifest = JSON.parse(await readFile(join(copy, "package.json"), "utf8"));
  manifest.scripts.test = 'node --eval "process.exit(1)"';
  await writeFile(join(copy, "package.json"), JSON.stringify(manifest));
  await git("commit", "--quiet", "--all", "--message", "Break a test");
  const { code, text } = await release("7.0.0", "--publish", "--no-provenance");
  expect(text).toContain("npm test failed");
  expect(code).toBe(1);
  expect(await git("log", "--format=%s", "--max-count=1")).toBe("Break a test\n");
});
