/** The OpenAPI document of the REST API. */
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { expect } from "vitest";
import { test } from "../support/server.ts";

async function lint(source: string): Promise<unknown[]> {
  const config = await createConfig({ extends: ["recommended"] });
  const problems = await lintFromString({ source, absoluteRef: "openapi.json", config });
  return problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer]);
}

test("a linter finds no problem in the document", async ({ http }) => {
  const source = await (await http.request("/v1/openapi.json")).text();
  expect(await lint(source)).toEqual([]);
  expect(await lint(source.replace('"operationId":"getStats"', '"operationId":"listJobs"'))).not.toEqual([]);
});

test("the document needs no token, and is OpenAPI 3.1", async ({ http }) => {
  const response = await http.request("/v1/openapi.json");
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({ openapi: "3.1.0", paths: expect.any(Object) });
});
