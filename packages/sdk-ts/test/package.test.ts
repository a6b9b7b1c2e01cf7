/** The package as it is published. test/packages.test.ts checks what is the same for every package. */
import { execFile } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { installPackage, type PublishedPackage } from "../../../test/package.ts";
import * as adapters from "../src/adapters.ts";
import * as sdk from "../src/index.ts";
import * as internal from "../src/internal.ts";

const run = promisify(execFile);
let sdkPackage: PublishedPackage;

beforeAll(async () => {
  sdkPackage = await installPackage("@jobforge/sdk-ts");
});

afterAll(() => sdkPackage.remove());

test("its declarations need no types of a driver", async () => {
  const dist = join(sdkPackage.installed, "dist");
  const files = (await readdir(dist)).filter((name) => /\.d\.c?ts$/.test(name));
  const declarations = await Promise.all(files.map((name) => readFile(join(dist, name), "utf8")));
  const imported = declarations.flatMap((text) =>
    [...text.matchAll(/from "([^"]+)"/g)].map(([, name]) => name),
  );
  expect(new Set(imported.filter((name) => !name?.startsWith("./")))).toEqual(
    new Set(["@standard-schema/spec"]),
  );
});

test("both of its entries export the same objects", async () => {
  const program = `
    import * as root from "@jobforge/sdk-ts";
    import * as adapters from "@jobforge/sdk-ts/adapters";
    console.log(Object.keys(adapters).every((name) => adapters[name] === root[name]));
  `;
  await writeFile(join(sdkPackage.directory, "both.mjs"), program);
  const { stdout } = await run(process.execPath, [join(sdkPackage.directory, "both.mjs")]);
  expect(stdout).toBe("true\n");
});

test.for([
  ["@jobforge/sdk-ts", sdk],
  ["@jobforge/sdk-ts/adapters", adapters],
  ["@jobforge/sdk-ts/internal", internal],
] as const)(
  "a bundle for browsers that imports any export of %s throws the reason",
  async ([entry, exported]) => {
    const names = Object.keys(exported).join(", ");
    const program = `import { ${names} } from "${entry}"; console.log(${names});`;
    await writeFile(join(sdkPackage.directory, "program.mjs"), program);
    const failure: unknown = await run(process.execPath, [
      "--conditions=browser",
      join(sdkPackage.directory, "program.mjs"),
    ]).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      stderr: expect.stringContaining("@jobforge/sdk-ts does not run in a browser"),
    });
  },
);
