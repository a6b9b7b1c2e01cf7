/** Which failures end a job, and which are retried, beyond the cases of conformance/connectors.json. */
import { describe, expect } from "vitest";
import { httpRequest, webhookDeliver } from "../../src/index.ts";
import { type Ran, runner, test } from "../support/run.ts";
import { closedPort, startServer, startTcp } from "../support/servers.ts";

type End = "succeeded" | "final" | "retry";

function endOf({ job }: Ran): End | string {
  if (job.status === "queued") return "retry";
  return job.status === "failed" ? "final" : job.status;
}

describe("the outcome", () => {
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

  test("safe retries a POST that was not sent, and no other", async ({ forge }) => {
    const url = `http://127.0.0.1:${await closedPort()}`;
    const { run } = runner(forge);
    expect(endOf(await run(httpRequest, { url, method: "POST", retry: "safe" }))).toBe("retry");
    const port = await startTcp((socket) => socket.once("data", () => socket.resetAndDestroy()));
    const sent = { url: `http://127.0.0.1:${port}/`, method: "POST", retry: "safe" } as const;
    expect(endOf(await run(httpRequest, sent))).toBe("final");
  });
});

describe("Retry-After", () => {
  test("delays the retry, and never shortens the policy's wait", async ({ forge }) => {
    const server = await startServer((request, response) => {
      response.writeHead(429, { "retry-after": request.url.slice(1) }).end("slow down");
    });
    await forge.sync([webhookDeliver]);
    const { run } = runner(forge);
    const started = Date.now();
    const long = await run(httpRequest, { url: `${server.url}/600` });
    expect(long.error.details).toMatchObject({ code: "http_status", status: 429, retry_after: 600 });
    expect(long.job.runAt.getTime()).toBeGreaterThanOrEqual(started + 600_000);
    const broken = await startTcp((socket) =>
      socket.once("data", () =>
        socket.end("HTTP/1.1 429 Slow Down\r\nretry-after: 600\r\ncontent-length: 99\r\n\r\nx"),
      ),
    );
    const cut = await run(httpRequest, { url: `http://127.0.0.1:${broken}/` });
    expect(cut.error.details).toMatchObject({ code: "http_status", retry_after: 600 });
    const short = await run(webhookDeliver, { url: `${server.url}/1`, event: { type: "a" } });
    expect(short.job.runAt.getTime()).toBeGreaterThanOrEqual(started + 4000);
  });
});
