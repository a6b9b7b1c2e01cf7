/** `npm test` looks a second time at what failed: only what fails twice is a failure. */
import { type ExecFileSyncOptionsWithStringEncoding, execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../", import.meta.url));

const run = `
  import { runSuite } from "./scripts/suite.js";
  const [folder] = process.argv.slice(1);
  const { passed, skipped, failures, unstable } = runSuite(folder, "Suite", {}, ["--root", folder], []);
  const namesOf = (texts) => texts.map((text) => text.split("\\n")[0].replace(/^.*\\//, ""));
  console.log("\\n" + JSON.stringify({ passed, skipped, failures: namesOf(failures), unstable: namesOf(unstable) }));
`;

/** Runs files of tests as `npm test` does. Returns what it counts. */
async function counted(files: Record<string, string>): Promise<unknown> {
  await mkdir(join(root, ".build"), { recursive: true });
  const folder = await mkdtemp(join(root, ".build/suite-"));
  try {
    await writeFile(join(folder, "vitest.config.ts"), "export default {};");
    for (const [name, body] of Object.entries(files)) {
      const head = `import { existsSync, writeFileSync } from "node:fs";\nimport { expect, test } from "vitest";`;
      await writeFile(
        join(folder, `${name}.test.ts`),
        `${head}\nconst folder = ${JSON.stringify(folder)};\n${body}`,
      );
    }
    const options: ExecFileSyncOptionsWithStringEncoding = {
      cwd: root,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    };
    const output = execFileSync(process.execPath, ["--input-type=module", "-e", run, folder], options);
    return JSON.parse(output.trim().split("\n").at(-1) ?? "");
  } finally {
    await rm(folder, { recursive: true });
  }
}

const passes = "test('passes', () => {});";
const fails = "test('fails', () => { throw new Error('no'); });";
/** Fails when it runs first. */
const once = (name: string): string => `test('${name}', () => {
  const mark = folder + '/${name}';
  const isFirst = !existsSync(mark);
  writeFileSync(mark, '');
  expect(isFirst).toBe(false);
});`;

test("what fails twice is a failure, and what fails once is unstable", async () => {
  expect(await counted({ good: passes, bad: fails + passes, first: once("a") + passes })).toEqual({
    passed: 4,
    skipped: 0,
    failures: ["bad.test.ts: fails"],
    unstable: ["first.test.ts: a"],
  });
});

test("a file that breaks before its tests is a failure", async () => {
  expect(await counted({ good: passes, broken: "throw new Error('no');" })).toEqual({
    passed: 1,
    skipped: 0,
    failures: ["broken.test.ts"],
    unstable: [],
  });
});

test("many failures are no chance: nothing runs again", async () => {
  const files = Object.fromEntries(["a", "b", "c", "d", "e"].map((name) => [name, once(name)]));
  expect(await counted(files)).toMatchObject({ passed: 0, unstable: [], failures: { length: 5 } });
});
