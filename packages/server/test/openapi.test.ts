/** The document of the REST API: valid, complete, and as strict linters like it. */
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { expect } from "vitest";
import { test } from "./support/server.ts";

async function lint(source: string): Promise<unknown[]> {
  const config = await createConfig({ extends: ["recommended"] });
  const problems = await lintFromString({ source, absoluteRef: "openapi.json", config });
  return problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer]);
}

test("the document has no fault that a linter finds", async ({ http }) => {
  const source = await (await http.request("/v1/openapi.json")).text();
  expect(await lint(source)).toEqual([]);
  expect(await lint(source.replace('"operationId":"getStats"', '"operationId":"listJobs"'))).not.toEqual([]);
});

test("it is for everybody, and says OpenAPI 3.1", async ({ http }) => {
  const answer = await http.request("/v1/openapi.json");
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject({ openapi: "3.1.0", paths: expect.any(Object) });
});
