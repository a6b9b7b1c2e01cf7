/** What is particular to HTTP: requests, tokens, and answers that are none. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test as plain } from "vitest";
import { T, U } from "../../../sql/test/support/kernel.ts";
import { test } from "../../../test/database.ts";
import {
  ConnectionError,
  ForbiddenError,
  type HttpOptions,
  httpTransport,
  InvalidArgumentError,
  JobForge,
  JsonText,
  NotInstalledError,
  PayloadTooLargeError,
  TimeoutError,
} from "../src/index.ts";
import { sign, startBridge } from "./support/bridge.ts";
import { cleanUp } from "./support/jobs.ts";

const claims = { role: "jobforge_app", tenant_id: T };

describe("a token", () => {
  test("may be a function, which is asked again when a call was refused", async ({ db }) => {
    await using bridge = await startBridge(db);
    const tokens = [sign({ ...claims, exp: 1 }), sign(claims), sign(claims)];
    const forge = new JobForge({ url: bridge.url, token: async () => tokens.shift() ?? "" });
    expect((await forge.enqueue(cleanUp, {}, { tenantId: T })).outcome).toBe("created");
    expect((await forge.list({ tenantId: T }).page()).items).toHaveLength(1);
    expect(tokens).toEqual([]);
    expect(bridge.requests).toHaveLength(3);
  });

  test("that is refused is an error of rights, after one more try at most", async ({ db }) => {
    await using bridge = await startBridge(db);
    const forge = new JobForge({ url: bridge.url, token: () => "forged.token.here" });
    await expect(forge.gates.list()).rejects.toThrow(ForbiddenError);
    expect(bridge.requests).toHaveLength(2);
    const fixed = new JobForge({ url: `${bridge.url}/rest/v1/`, token: sign({ ...claims, exp: 1 }) });
    await expect(fixed.gates.list()).rejects.toMatchObject({ code: "PGRST303", message: "JWT expired" });
    expect(bridge.requests).toHaveLength(3);
  });

  test("is for one tenant", async ({ db }) => {
    await using bridge = await startBridge(db);
    const forge = new JobForge({ url: bridge.url, token: sign(claims) });
    await expect(forge.enqueue(cleanUp, {}, { tenantId: U })).rejects.toMatchObject({
      name: "ForbiddenError",
      code: "42501",
      kind: "forbidden",
      hint: expect.stringContaining("JWT claims"),
    });
  });
});

describe("errors", () => {
  test("have the code, field and hint of the kernel", async ({ db }) => {
    await using bridge = await startBridge(db);
    const transport = httpTransport({ url: bridge.url, token: sign(claims) });
    const job = { p_tenant_id: T, p_type: "a" };
    await expect(transport.call("jobforge_enqueue_job", { ...job, p_max_attempts: 0 })).rejects.toMatchObject(
      { name: "InvalidArgumentError", code: "JF002", field: "maxAttempts" },
    );
    const large = { ...job, p_payload: new JsonText(JSON.stringify("x".repeat(2 ** 20))) };
    await expect(transport.call("jobforge_enqueue_job", large)).rejects.toThrow(PayloadTooLargeError);
    await expect(transport.call("jobforge_no_such", job)).rejects.toThrow(NotInstalledError);
  });

  plain.for([
    [503, "<html>Bad gateway</html>", { name: "ConnectionError", retryable: true }],
    [429, "", { name: "ConnectionError", retryable: true }],
    [418, "{}", { name: "ConnectionError", retryable: false, message: "HTTP 418 I'm a Teapot" }],
    [403, "null", { name: "ForbiddenError", retryable: false }],
    [200, "<html>Log in</html>", { name: "ConnectionError", retryable: false }],
    [
      500,
      '{"code":"57P01","message":"shutting down"}',
      { name: "ConnectionError", code: "57P01", retryable: true },
    ],
    [409, '{"code":"40P01","message":"deadlock"}', { name: "DatabaseError", code: "40P01", retryable: true }],
  ] as const)("an answer %i %s is a typed error", async ([status, body, expected]) => {
    const options = await answering((_, response) => response.writeHead(status).end(body));
    await expect(httpTransport(options).call("jobforge_list_gates", {})).rejects.toMatchObject(expected);
  });

  plain("a server that is not there is told with its reason", async () => {
    const transport = httpTransport({ url: "http://127.0.0.1:1", token: "t" });
    const error = await transport.call("jobforge_list_gates", {}).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ retryable: true, message: expect.stringMatching(/fetch failed: .+/) });
  });

  plain("a server that does not answer is given up", async () => {
    const { url } = await answering(() => undefined);
    const transport = httpTransport({ url, token: "t", timeoutMs: 30 });
    await expect(transport.call("jobforge_list_gates", {})).rejects.toThrow(TimeoutError);
    const signal = AbortSignal.abort(new Error("no longer wanted"));
    await expect(transport.call("jobforge_list_gates", {}, { signal })).rejects.toThrow("no longer wanted");
  });

  plain.for(["", "project.supabase.co", "postgres://localhost/db"])("%s is no URL of a server", (url) => {
    expect(() => new JobForge({ url, token: "t" })).toThrow(InvalidArgumentError);
  });
});

plain("a request is what PostgREST and Supabase expect", async () => {
  const seen: { method: string | undefined; url: string | undefined; headers: object; body: string }[] = [];
  const options = await answering(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method, url, headers } = request;
    seen.push({ method, url, headers, body: Buffer.concat(chunks).toString() });
    response.end("[]");
  });
  const transport = httpTransport({ ...options, apiKey: "anon", schema: "api", headers: { "x-own": "1" } });
  await transport.call("jobforge_list_jobs", {
    p_tenant_id: T,
    p_filters: new JsonText('{"a":1}'),
    p_x: undefined,
  });
  const shared = { authorization: "Bearer t", apikey: "anon", accept: "application/json", "x-own": "1" };
  expect(seen).toMatchObject([
    {
      method: "POST",
      url: "/rest/v1/rpc/jobforge_list_jobs",
      headers: { ...shared, "content-type": "application/json", "content-profile": "api" },
      body: `{"p_tenant_id":"${T}","p_filters":{"a":1}}`,
    },
  ]);
});

describe("a request that is too large", () => {
  plain("is a mistake of the data and no outage, whoever refuses it", async () => {
    const bodies = ["<h1>Too large</h1>", JSON.stringify({ code: "PGRST413", message: "Too large" })];
    const options = await answering((_, response) => {
      response.writeHead(413).end(bodies.shift());
    });
    for (const message of [/^HTTP 413/, /^Too large$/]) {
      const error = await httpTransport(options)
        .call("jobforge_list_gates", {})
        .catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(PayloadTooLargeError);
      expect(error).toMatchObject({
        code: "JF008",
        retryable: false,
        message: expect.stringMatching(message),
      });
    }
  });

  plain("is never made of many jobs that are not", async () => {
    const sizes: number[] = [];
    const forge = new JobForge({
      url: "http://server",
      token: "t",
      fetch: async (_, request) => {
        const body = String(request?.body);
        sizes.push(Buffer.byteLength(body));
        const { p_jobs } = JSON.parse(body) as { p_jobs: unknown[] };
        return Response.json(p_jobs.map(() => ({ id: T, outcome: "created" })));
      },
    });
    // As many bytes as an even part of the server's limit, so that a comma is too much.
    const rest = JSON.stringify({ type: cleanUp.type, payload: "" }).length;
    const input = "x".repeat(2 ** 19 - rest);
    const jobs = Array.from({ length: 33 }, () => ({ job: cleanUp, input }));
    expect(await forge.enqueueMany(jobs, { tenantId: T })).toHaveLength(33);
    expect(sizes).toHaveLength(3);
    expect(Math.max(...sizes)).toBeLessThan(8 * 2 ** 20);
  });
});

plain("another fetch may be used", async () => {
  const asked: string[] = [];
  const transport = httpTransport({
    url: "https://example.com",
    token: "t",
    fetch: async (input) => {
      asked.push(String(input));
      return new Response("null");
    },
  });
  expect(await transport.call("jobforge_get_policy", { p_type: "a" })).toBeNull();
  expect(asked).toEqual(["https://example.com/rest/v1/rpc/jobforge_get_policy"]);
});

/** A server that answers as told. */
async function answering(
  respond: (request: IncomingMessage, response: ServerResponse) => unknown,
): Promise<HttpOptions> {
  const server = createServer(respond);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, token: "t" };
}
