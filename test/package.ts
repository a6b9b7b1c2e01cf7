/** A package as it is published: built, packed, and looked at by those who know what breaks. */
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

const run = promisify(execFile);

export interface PublishedPackage {
  /** A project that has the package. */
  readonly directory: string;
  /** The package in it. */
  readonly installed: string;
  remove(): Promise<void>;
}

/** Builds a package into a project of its own. `files` are those of its folder that are published beside what is built. */
export async function installPackage(
  folder: URL,
  name: string,
  files: readonly string[],
): Promise<PublishedPackage> {
  const source = fileURLToPath(folder);
  const directory = await mkdtemp(join(tmpdir(), "jobforge-package-"));
  const installed = join(directory, "node_modules", name);
  await mkdir(installed, { recursive: true });
  for (const file of ["package.json", ...files]) await cp(join(source, file), join(installed, file));
  await build({
    config: false,
    cwd: source,
    entry: ["src/{index,adapters}.ts"],
    outDir: join(installed, "dist"),
    format: "esm",
    platform: "node",
    target: "node20.19",
    dts: true,
    sourcemap: true,
    fixedExtension: false,
    logLevel: "error",
  });
  return { directory, installed, remove: () => rm(directory, { recursive: true, force: true }) };
}

/** What its package.json promises and it has not. */
export async function missingFiles({ installed }: PublishedPackage): Promise<string[]> {
  const { messages, pkg } = await publint({ pkgDir: installed, strict: true });
  return messages.map((message) => formatMessage(message, pkg) ?? message.code);
}

/** Ways of importing it by which its types are not found, or are wrong. */
export async function typeProblems({ directory, installed }: PublishedPackage): Promise<unknown[]> {
  const { stdout } = await run("npm", ["pack", "--json", "--pack-destination", directory], {
    cwd: installed,
  });
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
  const tarball = new Uint8Array(await readFile(join(directory, filename)));
  const result = await checkPackage(createPackageFromTarballData(tarball));
  if (result.types === false) return ["the package has no types"];
  // Packages are ESM only, so require of a CommonJS project and resolution as of Node 10 are not among them.
  return result.problems.filter(
    (problem) => !("resolutionKind" in problem) || !["node10", "node16-cjs"].includes(problem.resolutionKind),
  );
}
