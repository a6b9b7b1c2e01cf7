/**
 * What the Python tests need from the other packages: one real Postgres with a migrated template, and HTTP servers on
 * databases in it. Speaks JSON lines: first it writes the server's address, then it responds to each request in order.
 * It ends with its input.
 */
import { createInterface } from "node:readline";
import { fileStore } from "@jobforge/connectors";
import { createServer } from "@jobforge/server";
import { describeSchema } from "@jobforge/sql";
import { startTestServer } from "@jobforge/testing";
import pg from "pg";
import { pino } from "pino";
import { findTool } from "../../scripts/tools.js";

const secret = "the secret of the servers of the Python tests";
const open = [];

const server = await startTestServer({ version: process.env.JOBFORGE_TEST_POSTGRES === "15" ? 15 : 18 });
reply({ url: server.url, template: server.template, secret });

const lines = createInterface({ input: process.stdin });
for await (const line of lines) {
  try {
    reply(await respond(JSON.parse(line)));
  } catch (error) {
    reply({ error: String(error) });
  }
}
for (const each of open) await each.close().catch(() => undefined);
await server.stop();

/**
 * `serve` starts an HTTP server for a database, with an artifact store if `artifacts` names a folder; `close` ends it.
 * `describe` returns the schema as one text. `tool` returns how to start a program, or null if it is not available.
 */
async function respond({ serve, artifacts, close, describe, tool, apiSchema = "public" }) {
  if (tool !== undefined) {
    const { path, env } = (await findTool(tool)) ?? {};
    return { tool: path === undefined ? null : { path, env } };
  }
  if (describe !== undefined) {
    const client = new pg.Client({ connectionString: describe });
    await client.connect();
    const text = await describeSchema(client, apiSchema);
    await client.end();
    return { text };
  }
  if (serve !== undefined) {
    const made = createServer({
      database: serve,
      jwtSecret: secret,
      logger: pino({ level: "silent" }),
      ...(artifacts === undefined ? {} : { artifacts: fileStore(artifacts) }),
    });
    const url = await made.listen({ port: 0 });
    open.push({ url, close: () => made.close() });
    return { url };
  }
  const index = open.findIndex((each) => each.url === close);
  await open.splice(index, 1)[0]?.close();
  return {};
}

function reply(message) {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}
