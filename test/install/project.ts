/** Projects outside this repository that have the packed packages installed. */
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { installPackage, type PackageName, pack, packageFolders } from "../package.ts";
import { quickInstall } from "./tools.ts";

const run = promisify(execFile);
const fixtures = join(import.meta.dirname, "project");

/** The oldest `pg` that the packages accept. Applications often stay on an older version for long. */
const oldestPg = "8.11.0";

/** What the application of the tests depends on itself. */
const dependencies = { "@types/node": "20.19.43", pg: oldestPg };

export interface Tarballs extends AsyncDisposable {
  readonly paths: Readonly<Record<PackageName, string>>;
}

/** Builds and packs all packages. */
export async function packAll(): Promise<Tarballs> {
  const paths: Partial<Record<PackageName, string>> = {};
  const folders: string[] = [];
  for (const name of Object.keys(packageFolders) as PackageName[]) {
    const published = await installPackage(name);
    folders.push(published.directory);
    paths[name] = await pack(published);
  }
  return {
    paths: paths as Readonly<Record<PackageName, string>>,
    [Symbol.asyncDispose]: async () => {
      for (const folder of folders) await rm(folder, { recursive: true, force: true });
    },
  };
}

export interface Project extends AsyncDisposable {
  readonly path: string;
}

/**
 * Creates a project whose only package of ours is `jobforge`, and installs it. The others come as its dependencies:
 * the overrides stand for a registry that has them.
 */
export async function createProject(
  manager: "npm" | "pnpm",
  { paths }: Tarballs,
  tools: string,
): Promise<Project> {
  const path = await mkdtemp(join(tmpdir(), `jobforge-${manager}-`));
  await cp(fixtures, path, { recursive: true });
  const { jobforge, ...others } = Object.fromEntries(
    Object.entries(paths).map(([name, file]) => [name, `file:${file}`]),
  );
  const manifest = {
    name: "application",
    private: true,
    dependencies: { ...dependencies, jobforge },
    ...(manager === "npm" ? { overrides: others } : { pnpm: { overrides: others } }),
  };
  await writeFile(join(path, "package.json"), JSON.stringify(manifest));
  const [program, ...args] =
    manager === "npm"
      ? ["npm", "--no-audit", "--no-fund"]
      : [process.execPath, join(tools, "node_modules/pnpm/bin/pnpm.cjs")];
  await run(program, manager === "npm" ? [...quickInstall, ...args] : [...args, ...quickInstall], {
    cwd: path,
  });
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** The versions of a package that a project has, wherever they are. */
export async function installedVersions({ path }: Project, name: string): Promise<string[]> {
  const modules = join(path, "node_modules");
  const entries = await readdir(modules, { recursive: true, withFileTypes: true });
  const manifests = entries.filter(
    (entry) => entry.name === "package.json" && entry.parentPath.endsWith(`/node_modules/${name}`),
  );
  return await Promise.all(
    manifests.map(
      async (entry) =>
        JSON.parse(await readFile(join(entry.parentPath, entry.name), "utf8")).version as string,
    ),
  );
}

/** Runs a program in a folder of a project, and returns its output. A failure has the output in its message. */
export async function runIn(
  folder: string,
  [program, ...args]: readonly [string, ...string[]],
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  await mkdir(folder, { recursive: true });
  // What the test run sets for its own processes must not reach the application.
  const { NODE_OPTIONS: _, NODE_ENV: __, VITEST: ___, DATABASE_URL: ____, ...inherited } = process.env;
  try {
    return await run(program, args, { cwd: folder, env: { ...inherited, ...env } });
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    throw new Error(`${program} ${args.join(" ")} failed:\n${stdout}${stderr}`, { cause: error });
  }
}
