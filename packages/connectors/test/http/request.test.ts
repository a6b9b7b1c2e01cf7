/** `connector.http.request`: what is sent, and what is kept of the response. */
import { expect } from "vitest";
import { httpRequest } from "../../src/index.ts";
import { runner, test } from "../support/run.ts";
import { startServer } from "../support/servers.ts";

test("a request is sent, and its JSON is the result", async ({ forge }) => {
  const server = await startServer((_, response) => {
    response.writeHead(200, { "content-type": "application/json; charset=utf-8", "x-other": "1" });
    response.end('{"name":"Grüße","n":1.5}');
  });
  const { job, result } = await runner(forge).run(httpRequest, { url: `${server.url}/v1/x?a=1` });
  expect(job.status, JSON.stringify(job.error)).toBe("succeeded");
  expect(result).toMatchObject({
    status: 200,
    success: true,
    url: `${server.url}/v1/x?a=1`,
    redirects: [],
    response_headers: { "content-type": "application/json; charset=utf-8" },
    json: { name: "Grüße", n: 1.5 },
    truncated: false,
    bytes: 26,
  });
  expect(result["response_body_preview"]).toBe('{"name":"Grüße","n":1.5}');
  const [request] = server.received;
  expect(request).toMatchObject({ method: "GET", url: "/v1/x?a=1" });
  expect(request?.headers).toMatchObject({
    "user-agent": expect.stringMatching(/^JobForge\/\d/),
    traceparent: expect.stringMatching(/^00-/),
    "accept-encoding": "identity",
  });
  expect(request?.headers).not.toHaveProperty("idempotency-key");
});
