/** Tests of jobforge worker and jobforge tick: they run the handlers of files and folders, in separate processes. */
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { TestDatabase } from "@jobforge/testing";
import { describe, expect, onTestFinished } from "vitest";
import { startJobforge } from "./child.ts";
import { type Folder, projectFolder, repository, temporaryFolder } from "./files.ts";
import { json, run, T, test } from "./support.ts";

const greet = `
import { defineJob } from "@jobforge/sdk-ts";
export const greet = defineJob({ type: "greet", retry: { maxAttempts: 7 } });
export const handler = greet.handle((input) => ({ greeting: "Hello, " + input.name }));
`;
const others = `
import { defineJob } from "@jobforge/sdk-ts";
export default [
  defineJob({ type: "count" }).handle((input) => input.n + 1),
  defineJob({ type: "break" }).handle(() => { throw new Error("boom"); }),
];
export const notAHandler = { definition: "no" };
`;

const sdkFile = pathToFileURL(join(repository, "packages/sdk-ts/dist/index.js")).href;

async function enqueue(db: TestDatabase, type: string, payload: object = {}): Promise<string> {
  return await db.value<string>("select jobforge_enqueue_job($1, $2, $3) ->> 'id'", [T, type, payload]);
}

/** Waits until the job is finished, and returns its status and result. */
async function finished(db: TestDatabase, id: string): Promise<{ status: string; result: unknown }> {
  for (;;) {
    const [row] = await db.query<{ status: string; result: unknown; finished: boolean }>(
      `select r ->> 'status' as status, r -> 'result' as result, r ->> 'finished_at' is not null as finished
       from jobforge_get_result($1, $2) r`,
      [id, T],
    );
    if (row?.finished) return { status: row.status, result: row.result };
    await db.query("select pg_sleep(0.05)");
  }
}

const handlers = (): Promise<Folder> =>
  projectFolder({
    "handlers/greet.js": greet,
    "handlers/more/others.mjs": others,
    "handlers/greet.test.js": "throw new Error('a test is not a handler');",
    "handlers/types.d.ts": "export {};",
    "handlers/index.js": `export * from "./greet.js";`,
    "handlers/notes.txt": "not a module",
  });

describe("jobforge worker", () => {
  test("runs the handlers that a folder exports until SIGTERM", async ({ db }) => {
    await using project = await handlers();
    const first = await enqueue(db, "greet", { name: "Ada" });
    const worker = startJobforge(["worker", "./handlers", "--id", "w1", "--concurrency", "3"], {
      cwd: project.path,
      env: { DATABASE_URL: db.url },
    });
    expect(await finished(db, first)).toEqual({ status: "succeeded", result: { greeting: "Hello, Ada" } });
    expect(await finished(db, await enqueue(db, "count", { n: 1 }))).toEqual({
      status: "succeeded",
      result: 2,
    });
    expect(await json(["workers"], db.url)).toMatchObject({
      items: [{ id: "w1", concurrency: 3, types: ["greet", "count", "break"] }],
    });
    expect(await db.value("select jobforge_get_policy('greet') ->> 'max_attempts'")).toBe("7");
    worker.process.kill("SIGTERM");
    expect(await worker.ended).toEqual({ code: 0, signal: null });
    // Outside a terminal its log is JSON.
    for (const line of worker.stdout().trim().split("\n"))
      expect(JSON.parse(line)).toHaveProperty("worker_id", "w1");
  });

  test("--connectors calls other systems with the policy and the secrets of its environment", async ({
    db,
  }) => {
    await using project = await projectFolder({
      "policy.json": JSON.stringify({
        allow_cidrs: ["127.0.0.1/32"],
        allow_http: true,
        secrets: { TOKEN: { hosts: ["127.0.0.1"] } },
      }),
    });
    const received: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      received.push(request.headers.authorization);
      response.end("pong");
    });
    const port = await new Promise<number>((resolve) =>
      server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port)),
    );
    onTestFinished(() => void server.close());
    const payload = { url: `http://127.0.0.1:${port}/`, auth: { bearer: { $secret: "TOKEN" } } };
    const args = ["worker", "--connectors", "--id", "w1"];
    const worker = startJobforge(args, {
      cwd: project.path,
      env: {
        DATABASE_URL: db.url,
        JOBFORGE_EGRESS_POLICY: "policy.json",
        [`JOBFORGE_SECRET_${T.replaceAll("-", "").toUpperCase()}_TOKEN`]: "t0ken",
      },
    });
    const done = await finished(db, await enqueue(db, "connector.http.request", payload));
    expect(done).toMatchObject({ status: "succeeded", result: { status: 200, body: "pong" } });
    expect(received).toEqual(["Bearer t0ken"]);
    const large = {
      rows: Array.from({ length: 5000 }, (_, n) => ({ n, text: "x".repeat(20) })),
      format: ["csv"],
    };
    const report = await finished(db, await enqueue(db, "connector.report.generate", large));
    const { artifact_ref: ref } = report.result as { artifact_ref: string };
    const path = join(project.path, ".jobforge/artifacts", ref.slice("artifact:".length));
    expect((await readFile(path, "utf8")).split("\r\n").length).toBeGreaterThanOrEqual(5001);
    worker.process.kill("SIGTERM");
    expect(await worker.ended).toEqual({ code: 0, signal: null });
    // Without the policy, the same request is refused.
    const strict = startJobforge(args, { cwd: project.path, env: { DATABASE_URL: db.url } });
    expect(await finished(db, await enqueue(db, "connector.http.request", payload))).toMatchObject({
      status: "failed",
    });
    expect(received).toHaveLength(1);
    strict.process.kill("SIGTERM");
    expect(await strict.ended).toEqual({ code: 0, signal: null });
    const wrong = startJobforge(args, {
      cwd: project.path,
      env: { DATABASE_URL: db.url, JOBFORGE_EGRESS: "all" },
    });
    expect(await wrong.ended).toMatchObject({ code: 2 });
    expect(wrong.stderr()).toContain("JOBFORGE_EGRESS must be public or loopback, not all.");
  });

  test("refuses a file of secrets that it cannot read, and shows nothing of it", async ({ db }) => {
    await using project = await projectFolder({
      "broken.json": '{"a": {"KEY": "t0ken" "B"',
      "list.json": '["t0ken"]',
    });
    const started = async (file: string) => {
      const env = { DATABASE_URL: db.url, JOBFORGE_SECRETS_FILE: file };
      const worker = startJobforge(["worker", "--connectors"], { cwd: project.path, env });
      return { code: (await worker.ended).code, stderr: worker.stderr() };
    };
    expect(await started("none.json")).toMatchObject({
      code: 4,
      stderr: expect.stringContaining("none.json cannot be read: it does not exist"),
    });
    for (const file of ["broken.json", "list.json"]) {
      const { code, stderr } = await started(file);
      expect([code, stderr]).toEqual([1, expect.stringContaining(`The file ${file} does not have the form`)]);
      expect(stderr).not.toContain("t0ken");
    }
  });

  test("serves its health and metrics on its own port", async ({ db }) => {
    await using project = await handlers();
    const worker = startJobforge(["worker", "./handlers", "--metrics-port", "0"], {
      cwd: project.path,
      env: { DATABASE_URL: db.url },
    });
    await finished(db, await enqueue(db, "count", { n: 1 }));
    const [, url = ""] = /^Health and metrics: (http:\S+)$/m.exec(worker.stderr()) ?? [];
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    expect(await (await fetch(`${url}/metrics`)).text()).toContain("jobforge_worker_claim_seconds_count");
    const { port } = new URL(url);
    const taken = startJobforge(["worker", "./handlers"], {
      cwd: project.path,
      env: { DATABASE_URL: db.url, METRICS_PORT: port },
    });
    expect(await taken.ended).toMatchObject({ code: 1 });
    expect(taken.stderr()).toContain(`Port ${port} on 127.0.0.1 is already in use.`);
    worker.process.kill("SIGTERM");
    expect(await worker.ended).toEqual({ code: 0, signal: null });
    await expect(fetch(`${url}/healthz`)).rejects.toThrow();
  });

  test("runs one file, and only the given types", async ({ db }) => {
    await using project = await handlers();
    const left = await enqueue(db, "break");
    const done = await enqueue(db, "count", { n: 1 });
    const worker = startJobforge(
      ["worker", "handlers/more/others.mjs", "--types", "count", "--no-listen", "--json"],
      {
        cwd: project.path,
        env: { DATABASE_URL: db.url },
      },
    );
    expect(await finished(db, done)).toMatchObject({ status: "succeeded" });
    worker.process.kill("SIGINT");
    expect(await worker.ended).toMatchObject({ code: 0 });
    expect(await db.value("select attempts from jobforge_jobs where id = $1", [left])).toBe(0);
    expect(JSON.parse(worker.stdout().split("\n")[0] ?? "")).toMatchObject({
      level: "info",
      message: "Worker started",
    });
  });

  test("restarts when a file changes", async ({ db }) => {
    await using project = await handlers();
    const version = (text: string): string =>
      `import { defineJob } from "@jobforge/sdk-ts";
       export const it = defineJob({ type: "version" }).handle(() => "${text}");`;
    await project.write("watched/it.js", version("old"));
    const worker = startJobforge(["worker", "watched", "--watch", "--grace", "1s"], {
      cwd: project.path,
      env: { DATABASE_URL: db.url },
    });
    expect(await finished(db, await enqueue(db, "version"))).toMatchObject({ result: "old" });
    await project.write("watched/it.js", version("new"));
    let result: unknown;
    while (result !== "new") ({ result } = await finished(db, await enqueue(db, "version")));
    expect(worker.stderr()).toContain("it.js has changed: restarting");
    worker.process.kill("SIGINT");
    expect(await worker.ended).toMatchObject({ code: 0 });
  });

  test("a watched worker ends with the process that started it, even if that was killed", async ({ db }) => {
    await using project = await handlers();
    const worker = startJobforge(["worker", "handlers", "--watch", "--id", "w1"], {
      cwd: project.path,
      env: { DATABASE_URL: db.url },
    });
    expect(await finished(db, await enqueue(db, "count", { n: 1 }))).toMatchObject({ status: "succeeded" });
    worker.process.kill("SIGKILL");
    // Its output is closed when the last process that writes to it has ended.
    expect(await worker.ended).toMatchObject({ signal: "SIGKILL" });
    expect(worker.stdout()).toContain("Worker stopped");
  });

  test("continues after a file that does not load, as soon as it is fixed", async ({ db }) => {
    await using project = await projectFolder({ "watched/it.js": "this is not JavaScript" });
    const worker = startJobforge(["worker", "watched", "--watch"], {
      cwd: project.path,
      env: { DATABASE_URL: db.url },
    });
    while (!worker.stderr().includes("cannot be loaded")) await db.query("select pg_sleep(0.05)");
    const id = await enqueue(db, "greet", { name: "Ada" });
    await project.write("watched/it.js", greet);
    expect(await finished(db, id)).toMatchObject({ status: "succeeded" });
    worker.process.kill("SIGTERM");
    expect(await worker.ended).toMatchObject({ code: 0 });
  });

  test("loads TypeScript with the project's tsx if Node cannot load it", async ({ db }) => {
    const typed = `
      import { defineJob, typed } from "@jobforge/sdk-ts";
      export const double = defineJob({ type: "double", input: typed<{ n: number }>() }).handle(({ n }): number => n * 2);`;
    await using project = await projectFolder({ "handlers/double.ts": typed });
    const id = await enqueue(db, "double", { n: 4 });
    const tick = startJobforge(["tick", "handlers", "--json"], {
      cwd: project.path,
      env: { DATABASE_URL: db.url },
    });
    expect(await tick.ended, tick.stderr()).toMatchObject({ code: 0 });
    expect(await finished(db, id)).toEqual({ status: "succeeded", result: 8 });
  });

  test.skipIf(Boolean(Reflect.get(process.features, "typescript")))(
    "says what is missing if neither can load TypeScript",
    async ({ db }) => {
      await using project = await handlers();
      await using bare = await temporaryFolder();
      await bare.write("double.ts", "export const n: number = 1;");
      const tick = startJobforge(["tick", join(bare.path, "double.ts")], {
        cwd: project.path,
        env: { DATABASE_URL: db.url },
      });
      expect(await tick.ended).toMatchObject({ code: 1 });
      expect(tick.stderr()).toContain("double.ts cannot be loaded: Node ");
      expect(tick.stderr()).toContain("cannot load TypeScript");
      expect(tick.stderr()).toContain("install tsx");
    },
  );

  test.skipIf(Boolean(Reflect.get(process.features, "typescript")))(
    "a file in TypeScript that cannot be loaded does not stop the handlers of other files",
    async ({ db }) => {
      await using bare = await temporaryFolder();
      await bare.write("handlers/double.ts", "export const n: number = 1;");
      // Only the SDK, so that there is no tsx.
      await bare.write("handlers/greet.mjs", greet.replace("@jobforge/sdk-ts", sdkFile));
      const id = await enqueue(db, "greet", { name: "Ada" });
      const worker = startJobforge(["worker", "handlers", "--watch"], {
        cwd: bare.path,
        env: { DATABASE_URL: db.url },
      });
      expect(await finished(db, id)).toMatchObject({ status: "succeeded" });
      expect(worker.stderr()).toMatch(
        /✗ handlers\/double\.ts cannot be loaded: Node \S+ cannot load TypeScript/,
      );
      expect(worker.stderr()).toContain("install tsx");
      worker.process.kill("SIGTERM");
      expect(await worker.ended).toMatchObject({ code: 0 });
    },
  );

  test.for<readonly [files: Record<string, string>, path: string, exitCode: number, message: string]>([
    [{}, "nothing", 4, "There is no file or folder"],
    [{ "h/a.txt": "" }, "h/a.txt", 2, "is not a module"],
    [{ "h/a.js": "export const x = 1;" }, "h", 1, "There are no handlers in"],
    [{ "h/a.js": greet, "h/b.js": greet }, "h", 1, 'There are two handlers for the type "greet"'],
    [{ "h/a.js": "export default nothing;" }, "h", 1, "nothing is not defined"],
  ])("%j, %s: ends with %d and says why", async ([files, path, exitCode, message], { db }) => {
    await using project = await projectFolder(files);
    const worker = startJobforge(["worker", path], { cwd: project.path, env: { DATABASE_URL: db.url } });
    expect(await worker.ended).toMatchObject({ code: exitCode });
    expect(worker.stderr()).toContain(message);
  });

  test("ends with 3 if the database cannot be reached at the start, and with 1 if JobForge is not installed", async ({
    empty,
  }) => {
    await using project = await handlers();
    const start = (url: string) =>
      startJobforge(["worker", "handlers"], { cwd: project.path, env: { DATABASE_URL: url } });
    expect(await start("postgres://me@127.0.0.1:1/app").ended).toMatchObject({ code: 3 });
    const uninstalled = start(empty.url);
    expect(await uninstalled.ended).toMatchObject({ code: 1 });
    expect(uninstalled.stderr()).toContain("jobforge migrate");
  });
});

describe("jobforge tick", () => {
  test("runs due jobs and reports how the runs ended", async ({ db }) => {
    await using project = await handlers();
    await enqueue(db, "count", { n: 1 });
    await enqueue(db, "break");
    const path = join(project.path, "handlers");
    expect(await run(["tick", path, "--limit", "1"], { DATABASE_URL: db.url })).toMatchObject({
      exitCode: 0,
      stdout: "1 run: 1 succeeded\n",
    });
    const { stdout } = await run(["tick", path, "--json"], { DATABASE_URL: db.url });
    expect(JSON.parse(stdout)).toMatchObject({ claimed: 1, succeeded: 0, retried: 1 });
    const idle = await run(["tick", path], { DATABASE_URL: db.url }, { terminal: {} });
    expect(idle).toMatchObject({ exitCode: 0, stdout: "No jobs were due.\n" });
  });

  test("refuses types that have no handler", async ({ db }) => {
    await using project = await handlers();
    const { exitCode, stderr } = await run(
      ["tick", join(project.path, "handlers"), "--types", "count,mail"],
      {
        DATABASE_URL: db.url,
      },
    );
    expect(exitCode).toBe(2);
    expect(stderr).toContain("There is no handler for mail. Types with a handler: ");
  });
});
