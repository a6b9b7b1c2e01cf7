/** Tests of jobforge server: what it needs to start, what it serves, and how it ends. */
import { createHmac } from "node:crypto";
import { createServer as createNetServer } from "node:net";
import { describe, expect } from "vitest";
import { startJobforge } from "./child.ts";
import { projectFolder } from "./files.ts";
import { type CliRun, run, T, test } from "./support.ts";

interface Serving {
  readonly url: string;
  /** Ends the server as Ctrl-C does. */
  end(): Promise<CliRun>;
}

/** Starts the server in this process. Resolves when it listens. */
async function serve(args: readonly string[], env: Record<string, string>): Promise<Serving> {
  const ending = new AbortController();
  let ended: Promise<CliRun> | undefined;
  const url = await new Promise<string>((resolve, reject) => {
    const onOutput = (text: string): void => {
      const [, found] = /"event":"listening","url":"([^"]+)"/.exec(text) ?? [];
      if (found !== undefined) resolve(found);
    };
    ended = run(["server", ...args, "--json"], env, { signal: ending.signal, onOutput });
    void ended.then(({ stderr }) => reject(new Error(`It ended: ${stderr}`)));
  });
  return {
    url,
    end: async () => {
      ending.abort();
      return (await ended) ?? { exitCode: -1, stdout: "", stderr: "" };
    },
  };
}

const secret = "a secret of the tests that is long enough";

describe("jobforge server", () => {
  test("accepts a key, logs each request, and ends on a signal", async ({ db }) => {
    const created = await run(["token", "create", "ops", "--role", "jobforge_operator"], {
      DATABASE_URL: db.url,
    });
    const authorization = `Bearer ${created.stdout.trim()}`;
    const server = await serve(["--port", "0"], { DATABASE_URL: db.url });
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    for (const path of ["/healthz", "/readyz"])
      expect((await fetch(`${server.url}${path}`)).status).toBe(200);
    expect((await fetch(`${server.url}/v1/jobs`)).status).toBe(401);
    expect((await fetch(`${server.url}/v1/jobs`, { headers: { authorization } })).status).toBe(200);
    expect(await (await fetch(server.url)).text()).toContain('<base href="./">');
    const { exitCode, stdout, stderr } = await server.end();
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    const lines = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const requests = lines.filter(({ route }) => route === "/v1/jobs" || route === "/");
    expect(requests.map(({ route, status }) => [route, status])).toEqual([
      ["/v1/jobs", 401],
      ["/v1/jobs", 200],
      ["/", 200],
    ]);
    expect(lines.at(-1)).toEqual({ event: "stopping" });
    expect(stdout).not.toContain(created.stdout.trim());
    await expect(fetch(`${server.url}/healthz`)).rejects.toThrow();
  });

  test("refuses to start if no caller could authenticate", async ({ db }) => {
    await run(["token", "create", "old", "--role", "jobforge_reader"], { DATABASE_URL: db.url });
    await db.query("update jobforge.tokens set revoked_at = now()");
    const { exitCode, stdout, stderr } = await run(["server", "--port", "0"], { DATABASE_URL: db.url });
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
    expect(stderr).toContain("JOBFORGE_JWT_SECRET");
    expect(stderr).toContain("jobforge token create");
  });

  test.for([
    { JOBFORGE_JWT_SECRET: "short" },
    { JOBFORGE_JWKS_URL: "ftp://example.com/keys" },
    { PORT: "many", JOBFORGE_JWT_SECRET: secret },
  ])("says what is wrong with %o", async (env, { db }) => {
    const { exitCode, stdout, stderr } = await run(["server"], { DATABASE_URL: db.url, ...env });
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toContain(Object.keys(env)[0]);
    expect(stderr).not.toContain("short");
  });

  test("trusts a proxy and accepts tokens that never expire, if options say so", async ({ db }) => {
    const encoded = [{ alg: "HS256" }, { role: "jobforge_operator" }].map((part) =>
      Buffer.from(JSON.stringify(part)).toString("base64url"),
    );
    const signature = createHmac("sha256", secret).update(encoded.join(".")).digest("base64url");
    const authorization = `Bearer ${[...encoded, signature].join(".")}`;
    const ask = async (args: readonly string[]): Promise<[number, boolean]> => {
      const server = await serve(["--port", "0", ...args], {
        DATABASE_URL: db.url,
        JOBFORGE_JWT_SECRET: secret,
      });
      const headers = { authorization, "x-forwarded-proto": "https" };
      const response = await fetch(`${server.url}/v1/jobs`, { headers });
      await server.end();
      return [response.status, response.headers.has("strict-transport-security")];
    };
    expect(await ask([])).toEqual([401, false]);
    expect(await ask(["--allow-jwt-without-exp", "--connections-per-caller", "3"])).toEqual([200, false]);
    for (const proxy of ["1", "cf-connecting-ip"])
      expect(await ask(["--trust-proxy", proxy])).toEqual([401, true]);
    for (const wrong of ["0", "-1", "1.5", "a b"]) {
      const { exitCode, stderr } = await run(["server", "--trust-proxy", wrong], { DATABASE_URL: db.url });
      expect([wrong, exitCode, stderr]).toEqual([wrong, 2, expect.stringContaining("--trust-proxy")]);
    }
  });

  test("says that a port is taken", async ({ db }) => {
    const other = createNetServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => other.once("listening", resolve));
    const { port } = other.address() as { port: number };
    const result = await run(["server"], {
      DATABASE_URL: db.url,
      JOBFORGE_JWT_SECRET: secret,
      PORT: String(port),
    });
    other.close();
    expect(result).toMatchObject({ exitCode: 1, stdout: "" });
    expect(result.stderr).toContain(`Port ${port} on 127.0.0.1 is already in use.`);
  });

  test("ends with an error if the database or JobForge is missing", async ({ empty }) => {
    const nowhere = { DATABASE_URL: "postgres://me@127.0.0.1:1/app" };
    expect(await run(["server", "--port", "0"], nowhere)).toMatchObject({ exitCode: 3 });
    const withSecret = { ...nowhere, JOBFORGE_JWT_SECRET: secret };
    expect(await run(["server", "--port", "0"], withSecret)).toMatchObject({ exitCode: 3 });
    expect(await run(["server", "--port", "0"], { DATABASE_URL: empty.url })).toMatchObject({ exitCode: 1 });
  });

  test("starts on a database that is not migrated yet, and says what it waits for", async ({ empty }) => {
    const server = await serve(["--port", "0"], { DATABASE_URL: empty.url, JOBFORGE_JWT_SECRET: secret });
    expect((await fetch(`${server.url}/readyz`)).status).toBe(503);
    const { exitCode, stdout } = await server.end();
    expect(exitCode).toBe(0);
    expect(stdout).toContain('{"event":"not_ready","reason":"JobForge is not installed');
  });

  test("as a process it runs ticks, and SIGTERM ends it while a stream is open", async ({ db }) => {
    await using project = await projectFolder({
      "handlers/it.js": `import { defineJob } from "@jobforge/sdk-ts";
        export const it = defineJob({ type: "it" }).handle(() => "done");`,
    });
    const key = await run(["token", "create", "ops", "--role", "jobforge_operator"], {
      DATABASE_URL: db.url,
    });
    await db.query("select jobforge_enqueue_job($1, 'it')", [T]);
    const server = startJobforge(["server", "--tick", "./handlers"], {
      cwd: project.path,
      env: { DATABASE_URL: db.url, JOBFORGE_TICK_SECRET: "tick tock", PORT: "0" },
    });
    await server.printed(/Listening on (\S+)/);
    const [, url = ""] = /Listening on (\S+)/.exec(server.stdout()) ?? [];
    const tick = (token: string): Promise<Response> =>
      fetch(`${url}/api/jobs/tick`, { method: "POST", headers: { authorization: `Bearer ${token}` } });
    expect((await tick("wrong")).status).toBe(401);
    expect(await (await tick("tick tock")).json()).toMatchObject({ ok: true, succeeded: 1 });
    expect(await db.value("select status from jobforge_jobs")).toBe("succeeded");
    const stream = await fetch(`${url}/v1/stream`, {
      headers: { authorization: `Bearer ${key.stdout.trim()}` },
    });
    expect(stream.status).toBe(200);
    server.process.kill("SIGTERM");
    await stream.text();
    expect(await server.ended).toEqual({ code: 0, signal: null });
    expect(server.stdout()).toContain("Stopping");
  });

  test("ticks need a secret", async ({ db }) => {
    const env = { DATABASE_URL: db.url, JOBFORGE_JWT_SECRET: secret };
    const { exitCode, stderr } = await run(["server", "--port", "0", "--tick", "./handlers"], env);
    expect(exitCode).toBe(2);
    expect(stderr).toContain("JOBFORGE_TICK_SECRET");
  });
});
