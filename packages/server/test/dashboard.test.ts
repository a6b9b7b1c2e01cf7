/** How the built dashboard is served. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { expect } from "vitest";
import { readDashboard } from "../src/dashboard/folder.ts";
import type { ServerOptions } from "../src/index.ts";
import { test as base, type Running, sign, startServer } from "./support/server.ts";

const html =
  '<!doctype html>\n<head><base href="./"><script type="module" src="assets/app-1.js"></script></head>';
const script = "export const answer = 42;\n".repeat(100);

/** The suite's `test` with a folder as the dashboard's build writes it, and a server that serves it. */
const test = base.extend<{ folder: URL; open: (options?: Partial<ServerOptions>) => Promise<Running> }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of fixtures from this pattern.
  folder: async ({}, use) => {
    const path = await mkdtemp(join(tmpdir(), "dashboard-"));
    await mkdir(join(path, "assets/icons"), { recursive: true });
    await writeFile(join(path, "index.html"), html);
    await writeFile(join(path, "assets/app-1.js"), script);
    await writeFile(join(path, "assets/app-1.js.br"), brotliCompressSync(script));
    await writeFile(join(path, "assets/app-1.js.gz"), gzipSync(script));
    await writeFile(join(path, "assets/icons/all-2.svg"), "<svg/>");
    await writeFile(join(path, "secret.txt"), "secret");
    await use(pathToFileURL(`${path}/`));
    await rm(path, { recursive: true });
  },
  open: async ({ db, folder }, use) => {
    const running: Running[] = [];
    await use(async ({ dashboard = {}, ...options } = {}) => {
      const started = await startServer(db, {
        ...options,
        dashboard: dashboard === false ? false : { folder, ...dashboard },
      });
      running.push(started);
      return started;
    });
    for (const each of running) await each.server.close();
  },
});

const navigate = { headers: { accept: "text/html,application/xhtml+xml,*/*;q=0.8" } };

test("every page gets the shell, with a base for its depth", async ({ open }) => {
  const http = await open();
  const bases: [string, string][] = [
    ["/", "./"],
    ["/jobs", "./"],
    ["/jobs?status=dead&x=/a/b", "./"],
    ["/jobs/", "../"],
    ["/jobs/42", "../"],
    ["/schedules/mail.send/a%2Fb", "../../"],
    ["/no/such/page/at/all", "../../../../"],
  ];
  for (const [path, base] of bases) {
    const response = await http.request(path, navigate);
    expect([path, response.status, response.headers.get("content-type")]).toEqual([
      path,
      200,
      "text/html; charset=utf-8",
    ]);
    const text = await response.text();
    expect([path, text.replace(/<meta name="jobforge-ui" content="[^"]*">/, "")]).toEqual([
      path,
      html.replace('href="./"', `href="${base}"`),
    ]);
    // The address that a browser makes of a relative one is the asset's, under any prefix.
    const seen = new URL(`https://proxy.example/a/b${path}`);
    expect(new URL("assets/app-1.js", new URL(base, seen)).pathname).toBe("/a/b/assets/app-1.js");
  }
});

test("the shell runs code of this server only, and is checked at each load", async ({ open }) => {
  const http = await open();
  const response = await http.request("/jobs/42", navigate);
  expect(response.headers.get("content-security-policy")).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'self'; " +
      "form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  );
  expect(response.headers.get("cache-control")).toBe("no-cache");
  const etag = response.headers.get("etag") ?? "";
  const again = await http.request("/jobs/43", { headers: { ...navigate.headers, "if-none-match": etag } });
  expect([again.status, await again.text()]).toEqual([304, ""]);
  const shallow = await http.request("/jobs", { headers: { ...navigate.headers, "if-none-match": etag } });
  expect(shallow.status).toBe(200);
});

test("only pages of named origins may show the dashboard in a frame", async ({ open }) => {
  const policyOf = async (http: Running): Promise<string> =>
    (await http.request("/jobs", navigate)).headers.get("content-security-policy") ?? "";
  expect(await policyOf(await open())).toContain("frame-ancestors 'none'");
  const frameOrigins = ["https://app.example.com", "http://localhost:3000"];
  expect(await policyOf(await open({ dashboard: { frameOrigins } }))).toContain(
    "frame-ancestors https://app.example.com http://localhost:3000;",
  );
  await expect(open({ dashboard: { frameOrigins: ["*"] } })).rejects.toThrow("dashboard.frameOrigins");
  await expect(open({ dashboard: { frameOrigins: ["https://x.example; script-src *"] } })).rejects.toThrow(
    "dashboard.frameOrigins",
  );
});

test("assets are kept for ever, and compressed if the client accepts it", async ({ open }) => {
  const http = await open();
  for (const [accepted, encoding] of [
    ["br, gzip", "br"],
    ["gzip, deflate", "gzip"],
    ["br;q=0, gzip", "gzip"],
    ["identity", null],
  ] as const) {
    const response = await http.request("/assets/app-1.js", { headers: { "accept-encoding": accepted } });
    expect([accepted, response.headers.get("content-encoding")]).toEqual([accepted, encoding]);
    expect(await response.text()).toBe(script);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "text/javascript; charset=utf-8",
      "cache-control": "public, max-age=31536000, immutable",
      vary: "accept-encoding",
    });
  }
  const icon = await http.request("/assets/icons/all-2.svg");
  expect([icon.status, icon.headers.get("content-type"), icon.headers.get("vary")]).toEqual([
    200,
    "image/svg+xml",
    null,
  ]);
});

test("what is no page and no asset is not served", async ({ open }) => {
  const http = await open();
  const missing = [
    "/assets/none.js",
    "/assets/..%2fsecret.txt",
    "/assets/app-1.js.br",
    "/api/x",
    `/${"a/".repeat(40)}`,
  ];
  for (const path of missing) {
    const { status } = await http.request(path, navigate);
    expect([path, status]).toEqual([path, 404]);
  }
  // Both are addresses of pages, which are not files.
  for (const path of ["/secret.txt", "/assets/%2e%2e/secret.txt"])
    expect(await (await http.request(path, navigate)).text()).toContain("<base href=");
  expect((await http.request("/v1/nothing", navigate)).status).toBe(401);
  // Programs get errors that they can read.
  expect((await http.request("/jobs")).status).toBe(404);
  expect((await http.request("/jobs", { method: "POST", ...navigate })).status).toBe(404);
});

test("behind a proxy that keeps its prefix, all paths are below the base path", async ({ open }) => {
  const http = await open({ basePath: "/a/b" });
  const page = await http.request("/a/b/jobs/42", navigate);
  expect(await page.text()).toContain('<base href="../">');
  expect((await http.request("/a/b/assets/app-1.js")).status).toBe(200);
  expect((await http.request("/a/b/v1/ui")).status).toBe(200);
  expect((await http.request("/a/b/v1/jobs")).status).toBe(401);
  // Probes do not pass the proxy.
  expect((await http.request("/healthz")).status).toBe(200);
  const bare = await fetch(`${http.url}/a/b?x=1`, { redirect: "manual", ...navigate });
  expect([bare.status, bare.headers.get("location")]).toEqual([308, "b/?x=1"]);
  expect(await (await http.request("/a/b", navigate)).text()).toContain('<base href="./">');
});

test("the address of jobforge dev signs in, and loses its token", async ({ open }) => {
  const token = "a-local-token-that-is-long-enough-for-it";
  const http = await open({ localToken: { role: "jobforge_operator", token } });
  const opened = await fetch(`${http.url}/?token=${token}`, { redirect: "manual", ...navigate });
  expect([opened.status, opened.headers.get("location")]).toEqual([303, "./"]);
  expect(opened.headers.get("set-cookie")).toMatch(/^jobforge_\d+=\S+; HttpOnly; SameSite=Strict; Path=\/$/);
  expect(opened.headers.get("referrer-policy")).toBe("no-referrer");
  const cookie = opened.headers.get("set-cookie")?.split(";")[0] ?? "";
  const me = await http.request("/v1/me", { headers: { cookie, "sec-fetch-site": "same-origin" } });
  expect(await me.json()).toMatchObject({ role: "jobforge_operator", kind: "local", name: null });
  for (const other of [`${token}x`, await sign({ role: "jobforge_operator" })]) {
    const { status, headers } = await http.request(`/?token=${other}`, navigate);
    expect([status, headers.get("set-cookie")]).toEqual([401, null]);
  }
  // A session of an earlier start does not get in the way.
  const port = new URL(http.url).port;
  const stale = `jobforge_session_${port}=an-old-local-token-that-is-not-valid; ${cookie}`;
  expect((await http.request("/v1/me", { headers: { cookie: stale } })).status).toBe(200);
});

test("the labels of the dashboard need no token", async ({ open }) => {
  const http = await open({
    dashboard: { environment: "staging", color: "#b91c1c", traceUrl: "https://traces.example/{trace_id}" },
  });
  const response = await http.request("/v1/ui");
  expect(await response.json()).toEqual({
    title: "JobForge",
    environment: "staging",
    color: "#b91c1c",
    trace_url: "https://traces.example/{trace_id}",
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    signs_in: true,
  });
  const local = await open({ anonymousRole: "jobforge_operator" });
  expect(await (await local.request("/v1/ui")).json()).toMatchObject({ environment: null, signs_in: false });
});

test("each page has the labels, as text", async ({ open }) => {
  const title = `"><script>alert(1)</script> & $& 'x'`;
  const http = await open({ dashboard: { title, environment: "staging" } });
  const text = await (await http.request("/jobs/42", navigate)).text();
  const [, content = ""] = /<meta name="jobforge-ui" content="([^"]*)">/.exec(text) ?? [];
  expect(content).not.toContain("<");
  const labels = content.replaceAll("&quot;", '"').replaceAll("&lt;", "<").replaceAll("&amp;", "&");
  expect(labels).toBe(await (await http.request("/v1/ui")).text());
  expect(JSON.parse(labels)).toMatchObject({ title, environment: "staging" });
});

test("a server without the dashboard serves the API only", async ({ open }) => {
  const http = await open({ dashboard: false });
  expect((await http.request("/", navigate)).status).toBe(404);
  expect((await http.request("/v1/ui")).status).toBe(200);
});

test("a shell without the place for its base is refused at the start", async ({ folder }) => {
  expect(readDashboard(folder)?.assets.size).toBe(2);
  await writeFile(new URL("index.html", folder), "<!doctype html>");
  expect(() => readDashboard(folder)).toThrow('must contain <base href="./"> once');
});
