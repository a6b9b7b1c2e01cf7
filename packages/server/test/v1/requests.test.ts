/** Requests that do not match the OpenAPI document. */
import { describe, expect } from "vitest";
import { test } from "../support/client.ts";
import { appToken, T } from "../support/server.ts";

describe("a request that does not match the document", () => {
  test.for([
    ["a missing type", "POST", "/v1/jobs", {}],
    ["an unknown key", "POST", "/v1/jobs", { type: "a", statsu: 1 }],
    ["a value of the wrong type", "POST", "/v1/jobs", { type: "a", priority: "high" }],
    ["malformed JSON", "POST", "/v1/jobs", "{"],
    ["an unknown filter", "GET", "/v1/jobs?statsu=dead", undefined],
    ["a malformed id", "GET", "/v1/jobs/17", undefined],
    ["a limit out of range", "GET", "/v1/jobs?limit=0", undefined],
    ["a malformed time", "GET", "/v1/stats?since=yesterday", undefined],
    ["a character that Postgres cannot store", "POST", "/v1/jobs", { type: "a", payload: "\u0000" }],
  ] as const)("with %s is refused with a problem", async ([, method, path, body], { app }) => {
    const reply = await app(path, { method, body });
    expect(reply.status).toBe(400);
    expect(reply.headers.get("content-type")).toBe("application/problem+json");
    expect(reply.body).toMatchObject({ status: 400, detail: expect.any(String), name: "invalid_argument" });
  });

  test("is refused with 415 if its body is missing or not JSON", async ({ http }) => {
    const token = await appToken(T);
    for (const headers of [{}, { "content-type": "text/plain" }]) {
      const reply = await http.request("/v1/jobs", { method: "POST", token, headers });
      expect([reply.status, await reply.json()]).toMatchObject([415, { name: "unsupported_media_type" }]);
    }
  });

  test("is refused with 405 or 404 for another method or path", async ({ app }) => {
    const method = await app("/v1/stats", { method: "DELETE" });
    expect([method.status, method.headers.get("allow")]).toEqual([405, "GET"]);
    expect((await app("/v1/no/such")).status).toBe(404);
  });
});
