/**
 * The part of PostgREST that the SDK uses: the role and claims of a signed token, and functions by their catalog
 * signature. It does not use the SDK's own table of functions.
 */
import { createHmac } from "node:crypto";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { TestDatabase } from "@jobforge/testing";
import pg from "pg";

export const secret = "the secret of bridges and servers of tests";

export interface Claims {
  readonly role: string;
  readonly tenant_id?: string;
  readonly exp?: number;
}

/** A signed token. */
export function sign(claims: Claims): string {
  const parts = [{ alg: "HS256", typ: "JWT" }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString("base64url"),
  );
  return [...parts, signature(parts.join("."))].join(".");
}

function signature(signed: string): string {
  return createHmac("sha256", secret).update(signed).digest("base64url");
}

export interface Bridge extends AsyncDisposable {
  readonly url: string;
  /** The requests so far, as "POST /rest/v1/rpc/jobforge_enqueue_job". */
  readonly requests: string[];
}

interface Reply {
  readonly status: number;
  readonly body: unknown;
}

class Refused extends Error {
  readonly reply: Reply;
  constructor(status: number, code: string, message: string) {
    super(message);
    this.reply = { status, body: { code, message, details: null, hint: null } };
  }
}

export async function startBridge(db: TestDatabase): Promise<Bridge> {
  const roles = [
    "jobforge_tenant",
    "jobforge_app",
    "jobforge_worker",
    "jobforge_operator",
    "jobforge_reader",
  ];
  const { url: login } = await db.createLogin(...roles);
  const pool = new pg.Pool({ connectionString: login, max: 5 });
  // The database is dropped at the end of a test, sometimes before the last connection is closed.
  pool.on("error", () => undefined);
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    serve(pool, request).then(
      ({ status, body }) => {
        response.writeHead(status, { "content-type": "application/json" });
        response.end(body === undefined ? undefined : JSON.stringify(body));
      },
      (error: unknown) => {
        // A client that disconnected before its request was read waits for no response.
        if (!request.errored) throw error;
      },
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    [Symbol.asyncDispose]: async () => {
      await closeServer(server);
      await pool.end();
    },
  };
}

async function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

async function serve(pool: pg.Pool, request: IncomingMessage): Promise<Reply> {
  const client = await pool.connect();
  try {
    const claims = readToken(request.headers.authorization ?? "");
    await client.query("begin");
    await client.query(`set local role ${pg.escapeIdentifier(claims.role)}`);
    await client.query("select set_config('request.jwt.claims', $1, true)", [JSON.stringify(claims)]);
    const body = await bodyFor(client, request);
    await client.query("commit");
    return { status: body === undefined ? 204 : 200, body };
  } catch (error) {
    await client.query("rollback");
    if (error instanceof Refused) return error.reply;
    if (!(error instanceof pg.DatabaseError)) throw error;
    const { code, message, detail = null, hint = null } = error;
    return { status: code === "42501" ? 403 : 400, body: { code, message, details: detail, hint } };
  } finally {
    client.release();
  }
}

function readToken(authorization: string): Claims {
  const [header = "", payload = "", signed = ""] = authorization.replace(/^Bearer /, "").split(".");
  if (signed !== signature(`${header}.${payload}`))
    throw new Refused(401, "PGRST301", "JWSError JWSInvalidSignature");
  const claims = JSON.parse(Buffer.from(payload, "base64url").toString()) as Claims;
  if (claims.exp !== undefined && claims.exp < Date.now() / 1000)
    throw new Refused(401, "PGRST303", "JWT expired");
  return claims;
}

async function bodyFor(client: pg.PoolClient, request: IncomingMessage): Promise<unknown> {
  const url = new URL(request.url ?? "", "http://bridge");
  const [, name = ""] = /^\/rest\/v1\/rpc\/(\w+)$/.exec(url.pathname) ?? [];
  const schema = String(request.headers["content-profile"] ?? "public");
  if (request.method === "POST" && name !== "")
    return await callFunction(client, schema, name, await text(request));
  throw new Refused(404, "PGRST125", "Invalid path specified in request URL");
}

async function callFunction(
  client: pg.PoolClient,
  schema: string,
  name: string,
  body: string,
): Promise<unknown> {
  const { rows } = await client.query<{ names: string[]; types: string[]; set: boolean; nothing: boolean }>(
    `select coalesce(p.proargnames[1:p.pronargs], '{}') as names, p.proretset as set,
       p.prorettype = 'void'::regtype as nothing,
       array(select format_type(t, null) from unnest(p.proargtypes::oid[]) with ordinality a(t, place) order by place) as types
     from pg_proc p where p.proname = $1 and p.pronamespace = to_regnamespace($2)`,
    [name, schema],
  );
  const [found] = rows;
  const given = Object.keys(JSON.parse(body) as object);
  const columns = given.map((parameter) => `${parameter} ${found?.types[found.names.indexOf(parameter)]}`);
  if (found === undefined || columns.some((column) => column.endsWith("undefined")))
    throw new Refused(404, "PGRST202", `Could not find the function ${schema}.${name} in the schema cache`);
  const call = `${schema}.${name}(${given.map((parameter) => `${parameter} => a.${parameter}`).join()})`;
  const from = given.length === 0 ? "(select 1) a" : `json_to_record($1::json) as a(${columns.join()})`;
  const sql = found.set
    ? `select coalesce(json_agg(f), '[]') as result from ${from}, lateral ${call} f`
    : `select ${found.nothing ? call : `to_json(${call})`} as result from ${from}`;
  const results = await client.query(sql, given.length === 0 ? [] : [body]);
  return found.nothing ? undefined : results.rows[0]?.result;
}
