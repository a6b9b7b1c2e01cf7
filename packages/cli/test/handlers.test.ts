/** Tests of the folder of handlers: what is loaded, what is ignored and said so, and what cannot be loaded. */
import { join } from "node:path";
import { describe, expect } from "vitest";
import { typeScriptFlag } from "../src/handlers/typescript.ts";
import { type Child, startJobforge } from "./child.ts";
import { type Folder, projectFolder, repository } from "./files.ts";
import { json, test } from "./support.ts";

const sdk = `import { defineJob } from "@jobforge/sdk-ts";\n`;
const good = `${sdk}export const it = defineJob({ type: "it" }).handle(() => "good");`;

/** Runs `jobforge tick`, which loads the handlers and ends. */
async function tick(
  project: Folder,
  url: string,
  args: readonly string[] = [],
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = startJobforge(["tick", "handlers", ...args], {
    cwd: project.path,
    env: { DATABASE_URL: url },
  });
  const { code } = await child.ended;
  return { code, stdout: child.stdout(), stderr: child.stderr() };
}

/** Resolves when standard error contains the text. */
async function complained(child: Child, text: string): Promise<void> {
  await expect.poll(child.stderr, { timeout: 50_000 }).toContain(text);
}

const resultOf = async (url: string, type: string): Promise<unknown> =>
  (await json<{ result: unknown }>(["enqueue", type, "--wait"], url)).result;

describe("a file that cannot be loaded", () => {
  const files: readonly (readonly [name: string, files: Record<string, string>, message: string])[] = [
    [
      "a syntax error",
      { "handlers/bad.js": "const a = 1;\nconst b = (1 + ;\n" },
      "handlers/bad.js cannot be loaded: Unexpected token ';' (handlers/bad.js:2:16)",
    ],
    [
      "the end of a file that is not complete",
      { "handlers/bad.js": "export function f() {\n  f();\n" },
      "handlers/bad.js cannot be loaded: Unexpected end of input (handlers/bad.js:3:1)",
    ],
    [
      "a syntax error in a file that it imports",
      {
        "handlers/bad.js": `import "../lib/deep.js";`,
        "lib/deep.js": `import "./x.js";`,
        "lib/x.js": "\n\nlet a = ;",
      },
      "handlers/bad.js cannot be loaded: Unexpected token ';' (lib/x.js:3:9)",
    ],
    [
      "a syntax error in CommonJS",
      { "handlers/bad.cjs": "const a = 1;\nconst b = (1 + ;\n" },
      "handlers/bad.cjs cannot be loaded: Unexpected token ';' (handlers/bad.cjs:2:16)",
    ],
    [
      "an import that does not exist",
      { "handlers/bad.js": `import { nothing } from "../lib/x.js";`, "lib/x.js": "export {};" },
      "does not provide an export named 'nothing' (handlers/bad.js:1:10)",
    ],
    [
      "an ES module in a CommonJS project",
      { "package.json": `{ "type": "commonjs" }`, "handlers/bad.js": sdk },
      "outside a module (handlers/bad.js:1:1). It is an ES module. Name it .mjs",
    ],
    [
      "a package that is not installed",
      { "handlers/bad.js": `import "no-such-package";` },
      "Install it: npm install no-such-package",
    ],
    [
      "a package of JobForge that the project does not reach",
      { "handlers/bad.js": `import "@jobforge/no-such-package";` },
      "Install the package @jobforge/no-such-package in this project",
    ],
    [
      "a throw",
      { "handlers/bad.js": `import "../lib/x.js";`, "lib/x.js": `\n  throw new Error("boom at import");` },
      "handlers/bad.js cannot be loaded: boom at import (lib/x.js:2:9)",
    ],
    [
      "a syntax error in TypeScript",
      { "handlers/bad.ts": "const a: number = 1;\nconst b: number = ;\n" },
      "(handlers/bad.ts:2:19)",
    ],
  ];

  test.for(files)("is reported with its place: %s", async ([, given, message], { db }) => {
    await using project = await projectFolder(given);
    const { code, stderr } = await tick(project, db.url);
    expect(code).toBe(1);
    expect(stderr).toContain(message);
  });

  test("stops a worker in production; every such file is named", async ({ db }) => {
    await using project = await projectFolder({
      "handlers/a.js": "let a = ;",
      "handlers/b.js": `throw new Error("boom");`,
      "handlers/it.js": good,
    });
    const worker = startJobforge(["worker", "handlers"], {
      cwd: project.path,
      env: { DATABASE_URL: db.url },
    });
    expect(await worker.ended).toMatchObject({ code: 1 });
    expect(worker.stderr()).toContain("handlers/a.js cannot be loaded");
    expect(worker.stderr()).toContain("handlers/b.js cannot be loaded: boom");
    expect(worker.stderr()).toContain("--skip-broken");
    expect(await json(["workers"], db.url)).toMatchObject({ items: [] });
  });

  test.for([
    ["worker", "handlers", "--skip-broken"],
    ["worker", "handlers", "--watch"],
    ["dev", "--port", "0"],
  ])("does not stop the handlers of other files: %s", async (args, { db }) => {
    await using project = await projectFolder({ "handlers/bad.js": "let a = ;", "handlers/it.js": good });
    const worker = startJobforge(args, { cwd: project.path, env: { DATABASE_URL: db.url } });
    expect(await resultOf(db.url, "it")).toBe("good");
    expect(worker.stderr()).toContain("✗ handlers/bad.js cannot be loaded: Unexpected token ';'");
    expect(worker.stderr()).toContain("The other files are not affected.");
    worker.process.kill("SIGTERM");
    expect(await worker.ended).toEqual({ code: 0, signal: null });
  });

  test("is a document with --json", async ({ db }) => {
    await using project = await projectFolder({ "handlers/bad.js": "let a = ;", "handlers/it.js": good });
    const worker = startJobforge(["worker", "handlers", "--skip-broken", "--json"], {
      cwd: project.path,
      env: { DATABASE_URL: db.url },
    });
    await complained(worker, "\n");
    expect(JSON.parse(worker.stderr().split("\n")[0] ?? "")).toMatchObject({
      event: "broken",
      file: "handlers/bad.js",
    });
  });
});

describe("what is ignored is said", () => {
  const cases: readonly (readonly [name: string, source: string, message: string | undefined])[] = [
    ["a plain function", "export async function hello() {}", "hello is an exported plain function"],
    ["a default export", "export default async () => 1;", "its default export is a plain function"],
    ["several functions", "export const a = () => 1, b = () => 2;", "it exports plain functions (a, b)"],
    [
      "a definition",
      `${sdk}export const d = defineJob({ type: "mail" });`,
      "defines mail, but exports no handler",
    ],
    ["no export", `${sdk}const h = defineJob({ type: "mail" }).handle(() => 1);`, "it exports nothing"],
    ["constants", "export const templates = { welcome: 1 };", undefined],
    ["a module without exports", "const templates = 1;", undefined],
  ];

  test.for(cases)("%s", async ([, source, message], { db }) => {
    await using project = await projectFolder({ "handlers/it.js": good, "handlers/other.js": source });
    const { code, stderr } = await tick(project, db.url);
    expect(code).toBe(0);
    if (message === undefined) expect(stderr).toBe("");
    else {
      expect(stderr).toMatch(/^! handlers\/other\.js /);
      expect(stderr).toContain(message);
      expect(stderr).toContain(".handle(async (input) =>");
    }
  });

  test("but not functions that a handler imports, nor definitions with a handler in another file", async ({
    db,
  }) => {
    await using project = await projectFolder({
      "handlers/lib/render.js": "export function render() { return 1; }",
      "handlers/mail.js": `import { render } from "./lib/render.js";
        import { mail } from "./definitions.js";
        export const send = mail.handle(render);`,
      "handlers/definitions.js": `${sdk}export const mail = defineJob({ type: "mail" });`,
    });
    expect(await tick(project, db.url)).toMatchObject({ code: 0, stderr: "" });
  });

  test("files with other extensions", async ({ db }) => {
    await using project = await projectFolder({ "handlers/it.js": good, "handlers/mail.tsx": "" });
    expect((await tick(project, db.url)).stderr).toContain(
      "handlers/mail.tsx is not loaded: handlers are in .js,",
    );
  });

  test("with --json on standard error, so that the result stays one document", async ({ db }) => {
    await using project = await projectFolder({
      "handlers/it.js": good,
      "handlers/other.js": "export default () => 1;",
    });
    const { stdout, stderr } = await tick(project, db.url, ["--json"]);
    expect(JSON.parse(stdout)).toMatchObject({ claimed: 0 });
    expect(JSON.parse(stderr)).toMatchObject({ event: "ignored", file: "handlers/other.js" });
  });
});

test("CommonJS modules have handlers, too", async ({ db }) => {
  const required = `const { defineJob } = require(${JSON.stringify(join(repository, "packages/sdk-ts/dist/index.js"))});\n`;
  await using project = await projectFolder({
    "handlers/a.cjs": `${required}exports.a = defineJob({ type: "a" }).handle(() => 1);`,
    "handlers/b.cjs": `${required}module.exports = { ["b"]: defineJob({ type: "b" }).handle(() => 2) };`,
    "handlers/c.cjs": `${required}module.exports = [defineJob({ type: "c" }).handle(() => 3)];`,
    "handlers/d.cts": "exports.d = (n: number): number => n;",
  });
  const ids = await Promise.all(
    ["a", "b", "c"].map(async (type) => (await json<{ id: string }>(["enqueue", type], db.url)).id),
  );
  const { stderr } = await tick(project, db.url);
  // The last one is loaded, too.
  expect(stderr).toMatch(/^! handlers\/d\.cts has no handler: .*plain function.*\n$/);
  expect(
    await db.value("select count(*)::int from jobforge_jobs where id = any($1) and status = 'succeeded'", [
      ids,
    ]),
  ).toBe(3);
});

describe("a file outside the folder that a handler imports is watched", () => {
  const restarts = async (
    files: Readonly<Record<string, string>>,
    changed: string,
    text: string,
    url: string,
    path = "handlers",
  ): Promise<void> => {
    await using project = await projectFolder(files);
    const worker = startJobforge(["worker", path, "--watch"], {
      cwd: project.path,
      env: { DATABASE_URL: url },
    });
    expect(await resultOf(url, "it")).toBe("old");
    await project.write(changed, text);
    await complained(worker, `${changed} has changed: restarting`);
    while ((await resultOf(url, "it")) !== "new");
    worker.process.kill("SIGTERM");
    expect(await worker.ended).toMatchObject({ code: 0 });
  };
  const handler = (imported: string, from: string): string =>
    `${sdk}${imported} from "${from}";\nexport const it = defineJob({ type: "it" }).handle(() => value);`;

  test("as an ES module, through other modules", ({ db }) =>
    restarts(
      {
        "handlers/it.js": handler("import { value }", "../lib/index.js"),
        "lib/index.js": `export * from "./value.js";`,
        "lib/value.js": `export const value = "old";`,
      },
      "lib/value.js",
      `export const value = "new";`,
      db.url,
    ));

  test("as CommonJS", ({ db }) =>
    restarts(
      {
        "handlers/it.js": handler("import value", "../lib/index.cjs"),
        "lib/index.cjs": `module.exports = require("./value.cjs");`,
        "lib/value.cjs": `module.exports = "old";`,
      },
      "lib/value.cjs",
      `module.exports = "new";`,
      db.url,
    ));

  test("as TypeScript, also for a single file", ({ db }) =>
    restarts(
      {
        "handlers/it.ts": handler("import { value }", "../lib/value.ts"),
        "lib/value.ts": `export const value: string = "old";`,
      },
      "lib/value.ts",
      `export const value: string = "new";`,
      db.url,
      "handlers/it.ts",
    ));
});

describe("a worker that ends by itself", () => {
  const crash = `${sdk}export const crash = defineJob({ type: "crash", retry: { maxAttempts: 1 } })
    .handle(() => new Promise(() => { Promise.reject(new Error("not awaited")); }));`;

  test.for([
    ["worker", "handlers", "--watch"],
    ["dev", "--port", "0"],
  ])("is started again after a growing delay, and at once after a change: %s", async (args, { db }) => {
    await using project = await projectFolder({ "handlers/crash.js": crash, "handlers/it.js": good });
    const child = startJobforge(args, { cwd: project.path, env: { DATABASE_URL: db.url } });
    const heard = (text: string): Promise<void> =>
      expect.poll(() => child.stdout() + child.stderr(), { timeout: 50_000 }).toContain(text);
    for (const delay of ["1s", "2s"]) {
      await json(["enqueue", "crash"], db.url);
      await heard(`The worker has ended (exit code 1). It starts again in ${delay}, or when a file changes`);
      expect(await resultOf(db.url, "it")).toBe("good");
    }
    await json(["enqueue", "crash"], db.url);
    await heard("It starts again in 4s");
    await project.write("handlers/it.js", good.replace("good", "new"));
    await heard("it.js has changed: restarting");
    expect(await resultOf(db.url, "it")).toBe("new");
    await json(["enqueue", "crash"], db.url);
    await expect
      .poll(() => (child.stdout() + child.stderr()).split("starts again in 1s").length, { timeout: 50_000 })
      .toBe(3);
    child.process.kill("SIGTERM");
    expect(await child.ended).toEqual({ code: 0, signal: null });
  });

  test("waits for a change if it could not load the handlers", async ({ db }) => {
    await using project = await projectFolder({ "handlers/it.js": "let a = ;" });
    const child = startJobforge(["worker", "handlers", "--watch"], {
      cwd: project.path,
      env: { DATABASE_URL: db.url },
    });
    await complained(child, "The worker has ended (exit code 1). It starts again when a file changes");
    await project.write("handlers/it.js", good);
    expect(await resultOf(db.url, "it")).toBe("good");
    child.process.kill("SIGTERM");
    expect(await child.ended).toEqual({ code: 0, signal: null });
  });
});

test.for([
  ["20.20.2", undefined],
  ["22.5.1", undefined],
  ["22.6.0", "--experimental-strip-types"],
  ["22.17.1", "--experimental-strip-types"],
  ["22.18.0", undefined],
  ["23.5.0", "--experimental-strip-types"],
  ["23.6.0", undefined],
  ["24.0.0", undefined],
] as const)("Node %s loads TypeScript with the flag %s", ([version, flag]) => {
  expect(typeScriptFlag(version)).toBe(flag);
});
