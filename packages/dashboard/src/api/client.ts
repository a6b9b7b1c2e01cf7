/** The REST API of the server that serves this page. Its types are made from the server's own document. */
import createClient, { type Client } from "openapi-fetch";
import { type Exact, writeExact } from "../lib/json.ts";
import { base } from "../state/route.ts";
import { Problem, problemOf, unreachable } from "./problem.ts";
import type { components, paths } from "./schema.generated.ts";

export type Schemas = components["schemas"];

/** Where the API is, as the browser sees it. */
export const apiBase: string = location.origin + base;

export const api: Client<paths> = createClient<paths>({
  baseUrl: apiBase,
  credentials: "same-origin",
  // Numbers of a filter by payload keep all their digits.
  bodySerializer: (body: unknown) => writeExact(body as Exact),
  querySerializer: { array: { style: "form", explode: true } },
});

api.use({
  onRequest: ({ request }) => {
    // The server takes a POST of a session only as JSON, also if it has no body: other origins cannot send that.
    if (request.method === "POST") request.headers.set("content-type", "application/json");
  },
  onResponse: async ({ response }) => {
    if (!response.ok) throw await problemOf(response);
  },
  onError: ({ error }) => (error instanceof Problem ? error : unreachable(error)),
});

interface Answer<T> {
  readonly data?: T;
}

/** The body of a response. The client throws a Problem for any other status. */
export async function bodyOf<T>(answer: Promise<Answer<T>>): Promise<T> {
  const { data } = await answer;
  if (data === undefined) throw new Problem(0, "Empty response", "The server responded without a body.");
  return data;
}
