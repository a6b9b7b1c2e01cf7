/** The command without @jobforge/embedded, as on a server that only migrates, serves and works. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import manifest from "../package.json" with { type: "json" };
import { startJobforge } from "./child.ts";
import { repository, temporaryFolder } from "./files.ts";
import { test } from "./support.ts";

/** Makes Node report the package as missing. */
const missing = `
import { register } from "node:module";
const hook = (specifier, context, next) => {
  if (specifier !== "@jobforge/embedded") return next(specifier, context);
  throw Object.assign(new Error("Cannot find package '@jobforge/embedded'"), { code: "ERR_MODULE_NOT_FOUND" });
};
register("data:text/javascript," + encodeURIComponent("export const resolve = " + hook));
`;
const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(missing)}` };

test("it is not installed with the command", () => {
  expect(Object.keys(manifest.dependencies)).not.toContain("@jobforge/embedded");
  expect(manifest.peerDependencies).toHaveProperty("@jobforge/embedded");
  expect(manifest.peerDependenciesMeta["@jobforge/embedded"]).toEqual({ optional: true });
});

test("no file imports it when it is loaded", async () => {
  const source = join(repository, "packages/cli/src");
  const files = (await readdir(source, { recursive: true })).filter((name) => name.endsWith(".ts"));
  for (const file of files)
    expect(await readFile(join(source, file), "utf8"), file).not.toMatch(
      /^(import|export) (?!type ).*"@jobforge\/embedded"/m,
    );
});

test("other commands work without it, and dev says what to install", async ({ db }) => {
  await using folder = await temporaryFolder();
  const migrate = startJobforge(["migrate", "--status"], {
    cwd: folder.path,
    env: { ...env, DATABASE_URL: db.url },
  });
  expect(await migrate.ended, migrate.stderr()).toMatchObject({ code: 0 });
  const nowhere = startJobforge(["stats"], { cwd: folder.path, env });
  expect(await nowhere.ended).toMatchObject({ code: 2 });
  expect(nowhere.stderr()).toContain("No database is given");
  const dev = startJobforge(["dev"], { cwd: folder.path, env });
  expect(await dev.ended).toMatchObject({ code: 1 });
  expect(dev.stderr()).toContain("Install the package @jobforge/embedded");
});
