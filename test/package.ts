/** Builds and packs packages as they are published, and checks them with publint and arethetypeswrong. */
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { build } from "tsdown";
import { builds } from "../tsdown.config.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../", import.meta.url));

/** The published packages and their folders. A package comes after the packages that it depends on. */
export const packageFolders = {
  "@jobforge/embedded": "packages/embedded",
  "@jobforge/sql": "sql",
  "@jobforge/sdk-ts": "packages/sdk-ts",
  "@jobforge/worker-ts": "packages/worker-ts",
  "@jobforge/connectors": "packages/connectors",
  "@jobforge/bullmq": "packages/bullmq",
  "@jobforge/testing": "packages/testing",
  "@jobforge/server": "packages/server",
  jobforge: "packages/cli",
} as const;

export type PackageName = keyof typeof packageFolders;

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly files: readonly string[];
  readonly [key: string]: unknown;
}

export interface PublishedPackage {
  /** The folder of a project that has the package installed. */
  readonly directory: string;
  /** The folder of the package in that project. */
  readonly installed: string;
  remove(): Promise<void>;
}

export async function manifestOf(name: PackageName): Promise<Manifest> {
  return JSON.parse(await readFile(join(root, packageFolders[name], "package.json"), "utf8"));
}

/**
 * Builds a package into a new project, with the files that its package.json names. It does not use `dist` of the
 * checkout, which may be older than the sources and which other tests are using.
 */
export async function installPackage(name: PackageName): Promise<PublishedPackage> {
  const directory = await mkdtemp(join(tmpdir(), "jobforge-package-"));
  const installed = join(directory, "node_modules", name);
  const source = join(root, packageFolders[name]);
  await mkdir(installed, { recursive: true });
  const { files } = await manifestOf(name);
  for (const file of ["package.json", "LICENSE", "README.md", ...files.filter((file) => file !== "dist")])
    await cp(join(source, file), join(installed, file), { recursive: true });
  for (const options of builds)
    await build({
      ...options,
      config: false,
      cwd: source,
      outDir: join(installed, "dist"),
      clean: false,
      logLevel: "error",
    });
  return { directory, installed, remove: () => rm(directory, { recursive: true, force: true }) };
}

/** Packs the package as `npm publish` does, and returns the path of the file. */
export async function pack({ directory, installed }: PublishedPackage): Promise<string> {
  const { stdout } = await run(
    "npm",
    ["pack", "--json", "--ignore-scripts", "--pack-destination", directory],
    { cwd: installed },
  );
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
  return join(directory, filename);
}

/** Problems found by publint, such as files that package.json names but the package does not contain. */
export async function missingFiles({ installed }: PublishedPackage): Promise<string[]> {
  const { messages, pkg } = await publint({ pkgDir: installed, strict: true });
  return messages.map((message) => formatMessage(message, pkg) ?? message.code);
}

/** Ways of importing the package for which its types are missing or wrong. */
export async function typeProblems(published: PublishedPackage): Promise<unknown[]> {
  const tarball = new Uint8Array(await readFile(await pack(published)));
  const result = await checkPackage(createPackageFromTarballData(tarball));
  return result.types === false ? ["the package has no types"] : result.problems;
}
