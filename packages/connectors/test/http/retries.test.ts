/** Every row of the table of failures: which of them end the job, and which are retried. */
import { describe, expect } from "vitest";
import { httpRequest, webhookDeliver } from "../../src/index.ts";
import { policyDelayMs, retryAfterOf } from "../../src/retries.ts";
import { type Ran, runner, T, test } from "../support/run.ts";
import { closedPort, startServer, startTcp } from "../support/servers.ts";

type End = "succeeded" | "final" | "retry";

function endOf({ job }: Ran): End | string {
  if (job.status === "queued") return "retry";
  return job.status === "failed" ? "final" : job.status;
}

interface Row {
  readonly outcome: string;
  readonly http: End;
  readonly webhook: End;
  readonly code?: string;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

const rows: readonly Row[] = [
  { outcome: "2xx", status: 204, http: "succeeded", webhook: "succeeded" },
  { outcome: "408", status: 408, http: "retry", webhook: "retry", code: "http_status" },
  { outcome: "425", status: 425, http: "retry", webhook: "retry", code: "http_status" },
  { outcome: "429", status: 429, http: "retry", webhook: "retry", code: "http_status" },
  { outcome: "500", status: 500, http: "retry", webhook: "retry", code: "http_status" },
  { outcome: "a redirect", status: 302, headers: { location: "/x" }, http: "final", webhook: "retry" },
  { outcome: "410", status: 410, http: "final", webhook: "final", code: "http_status" },
  { outcome: "404", status: 404, http: "final", webhook: "retry", code: "http_status" },
  {
    outcome: "the receiver's word",
    status: 503,
    headers: { "jobforge-no-retry": "true" },
    http: "final",
    webhook: "final",
  },
];

describe("the outcome", () => {
  test.for(rows)("$outcome: http $http, webhook $webhook", async (row, { forge }) => {
    const server = await startServer((_, response) => {
      response.writeHead(row.status ?? 200, row.headers).end();
    });
    const { run } = runner(forge);
    const http = await run(httpRequest, { url: server.url, redirects: 0 });
    expect(endOf(http), JSON.stringify(http.error)).toBe(row.http);
    const webhook = await run(webhookDeliver, { url: server.url, event: { type: "a" } });
    expect(endOf(webhook), JSON.stringify(webhook.error)).toBe(row.webhook);
    if (row.code !== undefined) {
      expect(http.error.details).toMatchObject({ code: row.code, status: row.status });
      expect(webhook.error.details).toMatchObject({ code: row.code, status: row.status });
    }
  });

  test("connections that fail: both retry", async ({ forge }) => {
    const { run } = runner(forge);
    const resetting = await startTcp((socket) => socket.once("data", () => socket.destroy()));
    const silent = await startTcp(() => undefined);
    const targets = [
      [`http://127.0.0.1:${await closedPort()}`, "connect_failed"],
      [`http://127.0.0.1:${resetting}`, "connection_lost"],
      [`http://127.0.0.1:${silent}`, "timeout"],
    ] as const;
    for (const [url, code] of targets) {
      const http = await run(httpRequest, { url, timeout_ms: 500 });
      expect([endOf(http), http.error.details?.["code"]]).toEqual(["retry", code]);
      const webhook = await run(webhookDeliver, { url, timeout_ms: 500, event: { type: "a" } });
      expect([endOf(webhook), webhook.error.details?.["code"]]).toEqual(["retry", code]);
    }
  });

  test("targets and headers that are not allowed: both are final", async ({ forge }) => {
    const { run } = runner(forge);
    const targets = [
      ["http://10.0.0.1/", "blocked_address"],
      ["http://db.internal/", "blocked_host"],
      ["http://127.0.0.1:22/", "blocked_port"],
      ["ftp://127.0.0.1/", "blocked_scheme"],
      ["nonsense", "invalid_url"],
    ] as const;
    for (const [url, code] of targets) {
      const http = await run(httpRequest, { url });
      expect([endOf(http), http.error.details?.["code"]]).toEqual(["final", code]);
      const webhook = await run(webhookDeliver, { url, event: { type: "a" } });
      expect([endOf(webhook), webhook.error.details?.["code"]]).toEqual(["final", code]);
    }
    const headers = { Host: "other" };
    const http = await run(httpRequest, { url: "http://127.0.0.1:9999/", headers });
    expect([endOf(http), http.error.details?.["code"]]).toEqual(["final", "invalid_header"]);
  });

  test("a webhook over http is final, unless the operator allows it", async ({ forge }) => {
    const { run } = runner(forge, { egress: { allow_cidrs: ["127.0.0.0/8"] } });
    const webhook = await run(webhookDeliver, { url: "http://127.0.0.1:9999/", event: { type: "a" } });
    expect([endOf(webhook), webhook.error.details?.["code"]]).toEqual(["final", "blocked_scheme"]);
  });

  test("a response that is too large fails for good, and is no failure of a webhook", async ({ forge }) => {
    const server = await startServer((_, response) => response.end("x".repeat(200_000)));
    const { run } = runner(forge);
    const response = { max_bytes: 1000, on_large: "fail" } as const;
    const http = await run(httpRequest, { url: server.url, response });
    expect([endOf(http), http.error.details?.["code"]]).toEqual(["final", "too_large"]);
    const cut = await run(httpRequest, { url: server.url, response: { max_bytes: 1000 } });
    expect(cut.result).toMatchObject({ truncated: true, body: "x".repeat(1000) });
    const webhook = await run(webhookDeliver, { url: server.url, event: { type: "a" } });
    expect(webhook.result).toMatchObject({ delivered: true, response_preview: "x".repeat(1024) });
  });

  test("a configuration that is malformed or a policy that is unreadable: retry", async ({ forge }) => {
    const server = await startServer((_, response) => response.end());
    await forge.connectors.set({ tenantId: T, type: "http.request" }, { alowed_hosts: ["a.example"] });
    const http = await runner(forge).run(httpRequest, { url: server.url });
    expect([endOf(http), http.error.details?.["code"]]).toEqual(["retry", "config_unavailable"]);
    const egress = async (): Promise<never> => {
      throw new Error("the database is down");
    };
    const webhook = await runner(forge, { egress }).run(webhookDeliver, {
      url: server.url,
      event: { type: "a" },
    });
    expect([endOf(webhook), webhook.error.details?.["code"]]).toEqual(["retry", "config_unavailable"]);
    expect(server.received).toEqual([]);
  });

  test("an egress proxy that is down costs no attempt", async ({ forge }) => {
    const egress = { proxy: `http://127.0.0.1:${await closedPort()}` };
    const { job } = await runner(forge, { egress }).run(httpRequest, { url: "http://api.test.example/" });
    expect(job).toMatchObject({ status: "queued", attempts: 1, uncounted: 1 });
  });
});

describe("the payload", () => {
  test("says which statuses succeed, are retried and are final", async ({ forge }) => {
    const server = await startServer((request, response) => {
      response.writeHead(Number(request.url.slice(1))).end();
    });
    const { run } = runner(forge);
    const lists = { success: ["2xx", "404"], retry_on: ["409"], final_on: ["5xx"] };
    const ends: Record<string, string> = {};
    for (const status of ["404", "409", "500", "400"])
      ends[status] = endOf(await run(httpRequest, { url: `${server.url}/${status}`, ...lists }));
    expect(ends).toEqual({ 404: "succeeded", 409: "retry", 500: "final", 400: "final" });
  });

  test.for([
    ["safe", "POST", 500, "final"],
    ["safe", "POST", 503, "retry"],
    ["safe", "POST", 429, "retry"],
    ["safe", "PUT", 500, "retry"],
    ["never", "GET", 500, "final"],
    ["always", "POST", 500, "retry"],
  ] as const)("retry %s of %s with status %s: %s", async ([retry, method, status, end], { forge }) => {
    const server = await startServer((_, response) => response.writeHead(status).end());
    expect(endOf(await runner(forge).run(httpRequest, { url: server.url, method, retry }))).toBe(end);
  });

  test("safe retries a POST that was not sent", async ({ forge }) => {
    const url = `http://127.0.0.1:${await closedPort()}`;
    expect(endOf(await runner(forge).run(httpRequest, { url, method: "POST", retry: "safe" }))).toBe("retry");
  });
});

describe("Retry-After", () => {
  test.for([
    [429, "120", 120],
    [503, "Wed, 18 Nov 2026 12:01:00 GMT", 60],
    [408, " 5 ", 5],
    [503, "999999999", 86_400],
    [503, "-5", undefined],
    [503, "soon", undefined],
    [503, "1.5", undefined],
    [503, "Wed, 18 Nov 2020 12:01:00 GMT", undefined],
    [500, "120", undefined],
  ] as const)("with status %s, %j asks for %s seconds", ([status, header, seconds]) => {
    expect(retryAfterOf(status, header, Date.parse("2026-11-18T12:00:00Z"))).toBe(seconds);
  });

  test("delays the retry, and never shortens the policy's wait", async ({ forge }) => {
    const server = await startServer((request, response) => {
      response.writeHead(429, { "retry-after": request.url.slice(1) }).end("slow down");
    });
    const { run } = runner(forge);
    const started = Date.now();
    const long = await run(httpRequest, { url: `${server.url}/600` });
    expect(long.error.details).toMatchObject({ code: "http_status", status: 429, retry_after: 600 });
    expect(long.job.runAt.getTime()).toBeGreaterThanOrEqual(started + 600_000);
    const short = await run(webhookDeliver, { url: `${server.url}/1`, event: { type: "a" } });
    expect(short.job.runAt.getTime()).toBeGreaterThanOrEqual(started + 5000);
  });

  test("the waits of webhooks grow to ten hours", () => {
    const waits = [1, 2, 3, 6, 7, 12].map((attempt) =>
      policyDelayMs(webhookDeliver.retry as object, attempt),
    );
    expect(waits).toEqual([5000, 25_000, 125_000, 15_625_000, 36_000_000, 36_000_000]);
  });
});
