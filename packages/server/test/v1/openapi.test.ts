/** The OpenAPI document of the REST API. */
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { expect, vi } from "vitest";
import { test } from "../support/server.ts";

async function lint(source: string): Promise<unknown[]> {
  const config = await createConfig({ extends: ["recommended"] });
  const problems = await lintFromString({ source, absoluteRef: "openapi.json", config });
  return problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer]);
}

function isDocument(value: unknown): boolean {
  return typeof value === "object" && value !== null && "openapi" in value;
}

test("a linter finds no problem in the document", async ({ http }) => {
  const source = await (await http.request("/v1/openapi.json")).text();
  expect(await lint(source)).toEqual([]);
  expect(await lint(source.replace('"operationId":"getStats"', '"operationId":"listJobs"'))).not.toEqual([]);
});

test("the document is made once, and is not sent to a client that has it", async ({ http }) => {
  using written = vi.spyOn(JSON, "stringify");
  const first = await http.request("/v1/openapi.json");
  const etag = first.headers.get("etag") ?? "";
  expect([etag, first.headers.get("cache-control")]).toEqual([expect.stringMatching(/^"\S+"$/), "no-cache"]);
  for (const known of [etag, `W/${etag}`, `"other", ${etag}`]) {
    const again = await http.request("/v1/openapi.json", { headers: { "if-none-match": known } });
    expect([again.status, await again.text(), again.headers.get("etag")]).toEqual([304, "", etag]);
  }
  const changed = await http.request("/v1/openapi.json", { headers: { "if-none-match": '"other"' } });
  expect([changed.status, await changed.text()]).toEqual([200, await first.text()]);
  expect(written.mock.calls.filter(([value]) => isDocument(value))).toHaveLength(1);
});

test("the document needs no token, and is OpenAPI 3.1", async ({ http }) => {
  const response = await http.request("/v1/openapi.json");
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({ openapi: "3.1.0", paths: expect.any(Object) });
});
