/** The types of the REST API are written from the document that the server itself serves. */
import openapi, { astToString } from "openapi-typescript";
import { pino } from "pino";
import { expect, test } from "vitest";
import { createServer } from "../../server/src/index.ts";

const head = "/** Written by `npm run golden` from the server's OpenAPI document. Do not edit. */\n\n";

async function typesOfServer(): Promise<string> {
  // The document needs no connection to the database.
  await using server = createServer({
    database: "postgres://127.0.0.1:1/none",
    logger: pino({ level: "silent" }),
    localToken: { role: "jobforge_operator", token: "0".repeat(32) },
  });
  const response = await server.fetch(new Request("http://127.0.0.1/v1/openapi.json"));
  return head + astToString(await openapi(await response.text()));
}

test("the dashboard knows every route (if the change is intended: npm run golden)", async () => {
  await expect(await typesOfServer()).toMatchFileSnapshot("../src/api/schema.generated.ts");
});
