/** Requests to the REST API, as a tenant and as an operator. */
import { appToken, test as base, type RequestOptions, type Running, sign, T } from "./server.ts";

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

export type Ask = (path: string, options?: RequestOptions) => Promise<Answer>;

/** Asks with a token, and reads the answer's JSON. */
export function asking(http: Running, token: string): Ask {
  return async (path, options) => {
    const answer = await http.request(path, { token, ...options });
    return {
      status: answer.status,
      headers: answer.headers,
      body: (await answer.json()) as Record<string, unknown>,
    };
  };
}

/** The suite's `test` with a tenant's and an operator's way to ask. */
export const test = base.extend<{ app: Ask; operator: Ask }>({
  app: async ({ http }, use) => use(asking(http, await appToken(T))),
  operator: async ({ http }, use) => use(asking(http, await sign({ role: "jobforge_operator" }))),
});
