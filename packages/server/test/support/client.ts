/** Clients of the REST API: a tenant and an operator. */
import { appToken, test as base, type RequestOptions, type Running, sign, T } from "./server.ts";

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

export type Client = (path: string, options?: RequestOptions) => Promise<Reply>;

/** Sends requests with a token, and reads the JSON of the responses. */
export function clientOf(http: Running, token: string): Client {
  return async (path, options) => {
    const response = await http.request(path, { token, ...options });
    return {
      status: response.status,
      headers: response.headers,
      body: (await response.json()) as Record<string, unknown>,
    };
  };
}

/** The suite's `test` with a client of a tenant and a client of an operator. */
export const test = base.extend<{ app: Client; operator: Client }>({
  app: async ({ http }, use) => use(clientOf(http, await appToken(T))),
  operator: async ({ http }, use) => use(clientOf(http, await sign({ role: "jobforge_operator" }))),
});
