/** Tests of jobforge dev and npm start: one command starts everything, and nothing is left when it ends. */
import { spawnSync } from "node:child_process";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { findEmbedded } from "@jobforge/embedded";
import { describe, expect, onTestFinished } from "vitest";
import { isLocal } from "../src/dev/remote.ts";
import { startJobforge, startNode } from "./child.ts";
import { projectFolder, repository, temporaryFolder } from "./files.ts";
import { json, run, test } from "./support.ts";

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Returns the address that `jobforge dev` printed, and a fetch with its token. */
function serverOf(text: string): { url: string; token: string; get(path: string): Promise<Response> } {
  const [, url = "", token = ""] = /Open (http:\/\/127\.0\.0\.1:\d+)\/\?token=([\w-]{32}) /.exec(text) ?? [];
  return { url, token, get: (path) => fetch(url + path, { headers: { authorization: `Bearer ${token}` } }) };
}

test("--demo starts a database, runs a mix of jobs and shows how they finished; Ctrl-C stops everything", {
  timeout: 180_000,
}, async () => {
  await using folder = await temporaryFolder();
  const dev = startJobforge(["dev", "--demo"], { cwd: folder.path, env: { PORT: "0" } });
  await dev.printed("The worker runs until Ctrl-C");
  await dev.printed("demo.patient attempt 1");
  const text = dev.stdout();
  expect(text).toMatch(/^• Schema of JobForge \S+ installed$/m);
  expect(text).toContain("✗ demo.flaky attempt 1: The upstream responded with 503 (attempt 1) → retry");
  expect(text).toContain("✓ demo.flaky attempt 3: succeeded");
  expect(text).toContain("✗ demo.broken attempt 3: The mail server does not exist → dead");
  const rows = text.slice(text.indexOf("\nid ")).trim().split("\n").slice(1, 10);
  expect(rows.map((row) => row.split(/ +/).slice(1, 3).join(" "))).toEqual([
    "demo.greet succeeded",
    "demo.report succeeded",
    "demo.greet succeeded",
    "demo.flaky succeeded",
    "demo.broken dead",
    "demo.refused failed",
    "demo.patient queued",
    "demo.greet queued",
    "demo.greet canceled",
  ]);

  const { url, token, get } = serverOf(text);
  // The address signs in a browser, and does not stay in its history.
  const opened = await fetch(`${url}/?token=${token}`, { redirect: "manual" });
  expect([opened.status, opened.headers.get("location")]).toEqual([303, "./"]);
  const { items } = (await (await get("/v1/jobs?type=demo.broken")).json()) as { items: object[] };
  expect(items).toMatchObject([{ status: "dead", attempts: 3 }]);

  // Each page of the dashboard has something to show.
  const count = async (path: string): Promise<number> => {
    const { items } = (await (await get(path)).json()) as { items: object[] };
    return items.length;
  };
  await expect.poll(() => count("/v1/dead"), { timeout: 30_000 }).toBeGreaterThan(3);
  await expect
    .poll(() => count("/v1/jobs?type=mail.send&status=succeeded"), { timeout: 60_000 })
    .toBeGreaterThan(8);
  expect(await count("/v1/tenants")).toBeGreaterThanOrEqual(4);
  expect(await count("/v1/schedules")).toBe(4);
  expect(await count("/v1/gates")).toBe(1);
  expect(await count("/v1/limits")).toBe(2);
  expect(await count("/v1/tokens")).toBe(1);
  const acme = "tenant_id=5a0b0000-0000-4000-8000-000000000001";
  const waiting = async (): Promise<unknown[]> => {
    const list = (await (await get(`/v1/workflows?${acme}&name=catalog.publish`)).json()) as {
      items: { id: string }[];
    };
    const one = await get(`/v1/workflows/${list.items[0]?.id}?${acme}`);
    return ((await one.json()) as { waits: unknown[] }).waits;
  };
  await expect.poll(waiting, { timeout: 60_000 }).toMatchObject([{ signal: "approve" }]);
  for (const path of ["/v1/workers", "/v1/usage", "/v1/audit", "/v1/types", "/v1/waiting", "/v1/attention"])
    await expect.poll(() => count(path), { message: path, timeout: 60_000 }).toBeGreaterThan(0);
  // One receiver works, the other is down.
  const ends = async (): Promise<string[]> => {
    const { items } = (await (await get(`/v1/webhooks?${acme}`)).json()) as { items: { id: string }[] };
    const lists = items.map(async ({ id }) => {
      const deliveries = await get(`/v1/webhooks/${id}/deliveries?${acme}`);
      const { items: jobs } = (await deliveries.json()) as { items: { status: string; attempts: number }[] };
      return jobs.some(({ status }) => status === "succeeded")
        ? "works"
        : jobs.some(({ attempts }) => attempts > 0)
          ? "fails"
          : "waits";
    });
    return (await Promise.all(lists)).sort();
  };
  await expect.poll(ends, { timeout: 60_000 }).toEqual(["fails", "works"]);
  await expect.poll(() => count("/v1/jobs?type=partner.sync&status=running")).toBeGreaterThan(0);

  // Logs are kept, unless the user says otherwise.
  expect(await (await get("/v1/types/any.other/policy")).json()).toMatchObject({ keep_logs: "all" });

  // Another user of this machine does not know the token.
  for (const path of ["/?token=guessed", "/v1/tokens", "/v1/jobs", "/rest/v1/jobforge_jobs", "/metrics"])
    expect((await fetch(url + path)).status, path).toBe(401);

  // Another command in the same directory finds the database without an option.
  const stats = startJobforge(["stats", "--json"], { cwd: folder.path });
  expect(await stats.ended).toMatchObject({ code: 0 });
  expect(JSON.parse(stats.stdout())).toMatchObject({ workersAlive: 1 });

  const server = findEmbedded({ directory: join(folder.path, ".jobforge") });
  expect(server && isRunning(server.pid)).toBe(true);

  const second = startJobforge(["dev"], { cwd: folder.path, env: { PORT: "0" } });
  expect(await second.ended).toMatchObject({ code: 1 });
  expect(second.stderr()).toMatch(/jobforge(\.js)? url prints its URL\./);
  expect(second.stderr()).not.toContain("password");

  // What it prints can be copied: the URL of the database, and the next command.
  expect(text).toContain(`\n  DATABASE_URL=${server?.url}\n`);
  const url2 = startJobforge(["url"], { cwd: folder.path });
  expect(await url2.ended).toMatchObject({ code: 0 });
  expect(url2.stdout()).toBe(`${server?.url}\n`);
  const [, next = ""] = /In another terminal: (.* stats)\n/.exec(text) ?? [];
  const typed = spawnSync(next, { shell: true, cwd: folder.path, encoding: "utf8" });
  expect(typed, next).toMatchObject({ status: 0, stdout: expect.stringContaining("1 worker alive") });
  dev.process.kill("SIGINT");
  expect(await dev.ended).toEqual({ code: 0, signal: null });
  expect(server && isRunning(server.pid)).toBe(false);
  expect(findEmbedded({ directory: join(folder.path, ".jobforge") })).toBeUndefined();
  await expect(fetch(url)).rejects.toThrow();
});

test("runs the handlers of a folder on the given database, and restarts when they change", async ({ db }) => {
  const handler = (text: string): string =>
    `import { defineJob } from "@jobforge/sdk-ts";
     export const it = defineJob({ type: "it" }).handle(() => "${text}");`;
  await using project = await projectFolder({ "handlers/it.js": handler("old") });
  const dev = startJobforge(["dev"], { cwd: project.path, env: { DATABASE_URL: db.url } });
  await dev.printed("Running the handlers in handlers");
  const result = async (): Promise<unknown> =>
    (
      await json<{ result: unknown }>(["enqueue", "it", "--wait"], db.url).catch(() => ({
        result: "waiting",
      }))
    ).result;
  expect(await result()).toBe("old");
  await project.write("handlers/it.js", handler("new"));
  await dev.printed("it.js has changed");
  while ((await result()) !== "new");
  dev.process.kill("SIGTERM");
  expect(await dev.ended).toEqual({ code: 0, signal: null });
  expect(dev.stdout()).toContain("Stopping");
  expect(dev.stdout()).not.toContain(new URL(db.url).password);
  // Its worker is no longer connected.
  expect(
    await db.value(
      "select count(*)::int from pg_stat_activity where datname = current_database() and application_name like 'jobforge%'",
    ),
  ).toBe(0);
});

test("without handlers it says so and keeps the database running; --json prints events", async ({
  empty,
}) => {
  await using project = await projectFolder({});
  // Takes the usual port, unless another program already has it.
  const other = createServer();
  await new Promise((resolve) =>
    other.once("error", resolve).listen(4470, "127.0.0.1", () => resolve(undefined)),
  );
  onTestFinished(() => void other.close());
  const dev = startJobforge(["dev", "--json"], { cwd: project.path, env: { DATABASE_URL: empty.url } });
  await dev.printed('"event":"no_handlers"');
  dev.process.kill("SIGINT");
  expect(await dev.ended).toMatchObject({ code: 0 });
  const events = dev
    .stdout()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { event: string; url?: string });
  expect(events.map(({ event }) => event)).toEqual([
    "migrated",
    "ready",
    "server",
    "connectors",
    "no_handlers",
    "stopping",
  ]);
  expect(events[2]).toEqual({
    event: "server",
    url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:(?!4470$)\d+$/),
    token: expect.stringMatching(/^[\w-]{32}$/),
  });
});

test("runs the connectors, which may reach this machine, with and without handlers", async ({ db }) => {
  const server = createHttpServer((_, response) => response.end("pong"));
  const port = await new Promise<number>((resolve) =>
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port)),
  );
  onTestFinished(() => void server.close());
  const payload = JSON.stringify({ url: `http://127.0.0.1:${port}/` });
  const request = ["enqueue", "connector.http.request", payload, "--wait"];
  for (const files of [
    {},
    {
      "handlers/it.js": `export const it = (await import("@jobforge/sdk-ts")).defineJob({ type: "it" }).handle(() => 1);`,
    },
  ]) {
    await using project = await projectFolder(files);
    const dev = startJobforge(["dev", "--port", "0"], { cwd: project.path, env: { DATABASE_URL: db.url } });
    await dev.printed("Running the connectors: they may also call this machine");
    expect(await json(request, db.url)).toMatchObject({ result: { status: 200, body: "pong" } });
    dev.process.kill("SIGTERM");
    expect(await dev.ended).toEqual({ code: 0, signal: null });
  }
  await using project = await projectFolder({});
  const strict = startJobforge(["dev", "--port", "0"], {
    cwd: project.path,
    env: { DATABASE_URL: db.url, JOBFORGE_EGRESS: "public" },
  });
  await strict.printed("Running the connectors: they reach public addresses only");
  const refused = await run([...request, "--json"], { DATABASE_URL: db.url });
  expect(refused.stdout + refused.stderr).toContain("The address of the host is not public.");
  strict.process.kill("SIGTERM");
  expect(await strict.ended).toEqual({ code: 0, signal: null });
});

test("a given database is named, and its password is not shown", async ({ db }) => {
  const stop = new AbortController();
  const { stdout, stderr } = await run(
    ["dev", "--port", "0"],
    { DATABASE_URL: db.url },
    { signal: stop.signal, onOutput: (text) => text.includes("No handlers") && stop.abort() },
  );
  const { password, hostname, pathname } = new URL(db.url);
  expect(stdout).toContain(`Ready: the database "${pathname.slice(1)}" on ${hostname}\n`);
  expect(stdout + stderr).not.toContain(password);
  expect(stdout).not.toContain("DATABASE_URL=");
});

describe("a database on another machine", () => {
  // Nothing is there, so a command that does not ask ends with 3.
  const url = "postgres://me:s3cret@db.invalid:5432/app";
  const dev = (args: readonly string[], options: Parameters<typeof run>[2] = {}) =>
    run(["dev", ...args], { DATABASE_URL: url }, options);

  test.for([[], ["--json"], ["--demo"]])("is refused without a terminal: dev %j", async (args) => {
    const { exitCode, stdout, stderr } = await dev(args);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toMatch(/The database .*"app.*" on db\.invalid is not on this machine/);
    expect(stderr).toContain("--allow-remote");
    expect(stderr).not.toContain("s3cret");
  });

  test("is used in a terminal only if its name is typed", async () => {
    for (const typed of ["", "y\n", "yes\n"]) {
      const { exitCode, stderr } = await dev([], { terminal: { typed } });
      expect([exitCode, stderr]).toEqual([1, expect.stringContaining("Nothing was changed.")]);
      expect(stderr).toContain("Type the name of the database to continue: ");
      expect(stderr).not.toContain("s3cret");
    }
    expect(await dev([], { terminal: { typed: "app\n" } })).toMatchObject({ exitCode: 3 });
    expect(await dev(["--json"], { terminal: { typed: "app\n" } })).toMatchObject({ exitCode: 2 });
  });

  test("is used with --allow-remote", async () => {
    expect(await dev(["--allow-remote"])).toMatchObject({ exitCode: 3 });
  });

  test("is found wherever pg reads the host from", async () => {
    const elsewhere = { DATABASE_URL: "postgres://me@localhost/app?host=db.invalid" };
    expect(await run(["dev"], elsewhere)).toMatchObject({ exitCode: 2 });
  });

  test.for([
    ["localhost", true],
    ["127.0.0.1", true],
    ["127.1.2.3", true],
    ["::1", true],
    ["[::1]", true],
    ["0:0:0:0:0:0:0:1", true],
    ["/var/run/postgresql", true],
    ["db.localhost", true],
    ["db", false],
    ["10.0.0.1", false],
    ["localhost.example.com", false],
    ["127.0.0.1.example.com", false],
    ["fe80::1", false],
    ["::", false],
  ] as const)("is every host but this machine: %s is local: %s", ([host, local]) => {
    expect(isLocal(host)).toBe(local);
  });
});

test("a path that does not exist is reported before anything starts", async () => {
  expect(await run(["dev", "./nothing"], { DATABASE_URL: "postgres://me@127.0.0.1:1/app" })).toMatchObject({
    exitCode: 4,
    stdout: "",
  });
});

test("npm start runs the demo with its page, and ends on a signal", async ({ empty }) => {
  const start = startNode(join(repository, "scripts/start.js"), [], {
    cwd: repository,
    env: { DATABASE_URL: empty.url, JOBFORGE_SKIP_PREPARE: "1", PORT: "0" },
  });
  await start.printed("The worker runs until Ctrl-C");
  const { url, get } = serverOf(start.stdout());
  expect(await (await get("/")).text()).toContain('<base href="./">');
  expect(await (await get("/v1/stats")).json()).toMatchObject({
    totals: { dead: expect.toSatisfy((dead: number) => dead > 0) },
  });
  start.process.kill("SIGINT");
  expect(await start.ended).toEqual({ code: 0, signal: null });
  await expect(fetch(url)).rejects.toThrow();
  expect(
    await empty.value(
      "select count(*)::int from pg_stat_activity where datname = current_database() and application_name like 'jobforge%'",
    ),
  ).toBe(0);
});
