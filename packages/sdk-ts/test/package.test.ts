/** The package as it is published: built, packed, and looked at by those who know what breaks. */
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { build } from "tsdown";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as sdk from "../src/index.ts";

const run = promisify(execFile);
const source = fileURLToPath(new URL("..", import.meta.url));
let directory = "";
/** The package as others have it. */
let installed = "";

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "jobforge-sdk-"));
  installed = join(directory, "node_modules/@jobforge/sdk-ts");
  await mkdir(installed, { recursive: true });
  for (const name of ["package.json", "browser.js", "README.md"])
    await cp(join(source, name), join(installed, name));
  await build({
    config: false,
    cwd: source,
    entry: ["src/index.ts"],
    outDir: join(installed, "dist"),
    format: "esm",
    platform: "node",
    target: "node20.19",
    dts: true,
    sourcemap: true,
    fixedExtension: false,
    logLevel: "error",
  });
});

afterAll(() => rm(directory, { recursive: true, force: true }));

test("it has every file that its package.json promises", async () => {
  const { messages, pkg } = await publint({ pkgDir: installed, strict: true });
  expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
});

test("its types are found by every way of importing it that it supports", async () => {
  const { stdout } = await run("npm", ["pack", "--json", "--pack-destination", directory], {
    cwd: installed,
  });
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
  const tarball = new Uint8Array(await readFile(join(directory, filename)));
  const result = await checkPackage(createPackageFromTarballData(tarball));
  if (result.types === false) return expect.fail("the package has no types");
  // It is ESM only, so require of a CommonJS project and resolution as of Node 10 are not among them.
  const problems = result.problems.filter(
    (problem) => !("resolutionKind" in problem) || !["node10", "node16-cjs"].includes(problem.resolutionKind),
  );
  expect(problems).toEqual([]);
});

test("its declarations need the types of no driver", async () => {
  const declarations = await readFile(join(installed, "dist/index.d.ts"), "utf8");
  const imported = [...declarations.matchAll(/from "([^"]+)"/g)].map(([, name]) => name);
  expect(imported).toEqual(["@standard-schema/spec"]);
});

test("a bundle for browsers is told why it cannot have it, whatever it imports", async () => {
  const names = Object.keys(sdk);
  const program = `import { ${names.join(", ")} } from "@jobforge/sdk-ts"; console.log(${names.join(", ")});`;
  await writeFile(join(directory, "program.js"), program);
  await writeFile(join(directory, "package.json"), '{ "type": "module" }');
  const failure: unknown = await run(process.execPath, [
    "--conditions=browser",
    join(directory, "program.js"),
  ]).catch((error: unknown) => error);
  expect(failure).toMatchObject({
    stderr: expect.stringContaining("@jobforge/sdk-ts does not run in a browser"),
  });
});
