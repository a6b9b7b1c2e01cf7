/** A server for a test's database, with the least rights that a server needs, and tokens for it. */
import { clientRoles } from "@jobforge/sdk-ts";
import type { TestDatabase } from "@jobforge/testing";
import { SignJWT } from "jose";
import { pino } from "pino";
import { test as base } from "../../../../test/database.ts";
import { createServer, type JobForgeServer, type ServerOptions } from "../../src/index.ts";

export const T = "11111111-1111-4111-8111-111111111111";
export const U = "22222222-2222-4222-8222-222222222222";

export const secret = "a secret of the tests that is long enough";

export interface Claims {
  readonly role: string;
  readonly tenant_id?: string;
  readonly [claim: string]: unknown;
}

/** Returns a token that is valid for one hour. */
export async function sign(claims: Claims, key: string = secret): Promise<string> {
  return await new SignJWT({ ...claims })
    .setProtectedHeader({ alg: "HS256" })
    .setExpirationTime("1h")
    .sign(new TextEncoder().encode(key));
}

export const appToken = (tenantId: string): Promise<string> =>
  sign({ role: "jobforge_app", tenant_id: tenantId });

export interface Running extends AsyncDisposable {
  readonly url: string;
  readonly server: JobForgeServer;
  /** Sends a request. The body is sent as JSON. */
  request(path: string, options?: RequestOptions): Promise<Response>;
}

export interface RequestOptions {
  readonly method?: string;
  readonly token?: string | undefined;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export async function startServer(db: TestDatabase, options: Partial<ServerOptions> = {}): Promise<Running> {
  const { url: database } = await db.createLogin(...clientRoles);
  const server = createServer({ database, jwtSecret: secret, logger: pino({ level: "silent" }), ...options });
  const url = await server.listen({ port: 0 });
  return {
    url,
    server,
    request: (path, { method, token, body, headers = {} } = {}) =>
      fetch(`${url}${path}`, {
        method: method ?? (body === undefined ? "GET" : "POST"),
        headers: {
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      }),
    [Symbol.asyncDispose]: () => server.close(),
  };
}

/** The suite's `test` with a server as `http`. The server is closed before its database is dropped. */
export const test = base.extend<{ http: Running }>({
  http: async ({ db }, use) => {
    await using running = await startServer(db);
    await use(running);
  },
});
