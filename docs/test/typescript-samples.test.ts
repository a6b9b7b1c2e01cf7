/** Checks the types of the TypeScript samples and runs them. Each page has a database. See support/programs.ts. */
import { existsSync, readdirSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { sign, startBridge } from "../../packages/sdk-ts/test/support/bridge.ts";
import { test } from "../../test/database.ts";
import { findRedis, startRedis } from "../../test/redis.ts";
import { readPage, readPages, root } from "./markdown.ts";
import {
  expectedOutput,
  type Program,
  programsOf,
  runProgram,
  typeErrors,
  writePrograms,
} from "./support/programs.ts";

/** Pages whose samples are fragments, not programs. */
const fragments = new Set(["CONTRIBUTING.md", "packages/embedded/README.md"]);

const readmes: readonly string[] = readdirSync(join(root, "packages"))
  .map((name) => `packages/${name}/README.md`)
  .filter((name) => existsSync(join(root, name)));
const pages = [...readPages(), ...readmes.map(readPage)].filter(({ name }) => !fragments.has(name));
const programs: readonly Program[] = pages.flatMap(programsOf);

const hasRedis = (await findRedis()) !== undefined;

let directory = "";
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "jobforge-samples-"));
  await writePrograms(join(directory, "programs"), programs);
});
afterAll(() => rm(directory, { recursive: true, force: true }));

describe("TypeScript samples", () => {
  // The test is slow, because the compiler reads every library that the samples import.
  test("have no type errors", { timeout: 300_000 }, () => {
    expect(typeErrors(join(directory, "programs"), programs)).toEqual([]);
  });

  const needsRedis = (program: Program): boolean =>
    program.blocks.some(({ text }) => text.includes("@jobforge/bullmq"));
  const running = programs.filter((program) => program.runs && (hasRedis || !needsRedis(program)));

  test.for(running)("of $name print as expected", async (program, { db }) => {
    await using bridge = await startBridge(db);
    await using redis = needsRedis(program) ? await startRedis() : undefined;
    // The environment of the samples: the database as its owner, and a server for one tenant.
    const env = {
      DATABASE_URL: db.url,
      ...(redis === undefined ? {} : { REDIS_URL: redis.url }),
      LOG_LEVEL: "silent",
      JOBFORGE_URL: bridge.url,
      JOBFORGE_TOKEN: sign({ role: "jobforge_app", tenant_id: "11111111-1111-4111-8111-111111111111" }),
    };
    const printed = await runProgram(join(directory, "programs"), program, env);
    for (const block of program.blocks) {
      const expected = expectedOutput(block);
      if (expected.length > 0)
        expect(printed.get(block.line), `${program.name}:${block.line}`).toEqual(expected);
    }
  });
});
