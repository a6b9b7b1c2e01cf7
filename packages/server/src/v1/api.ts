/**
 * What the routes of /v1 share: how they are declared, served and paged. Every other file in this folder is a
 * resource.
 */
import type { OpenAPIHono, RouteConfig, RouteHandler, z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { cutPageBytes, type Rows } from "../answers.ts";
import type { ApiSession, Arguments } from "../calls.ts";
import { RequestError } from "../errors.ts";
import { isJsonType } from "../media-type.ts";
import type { Environment, Services } from "../services.ts";
import { Problem } from "./schemas/basic.ts";

export interface Api {
  readonly app: OpenAPIHono<Environment>;
  readonly services: Services;
}

/** The context of a route's handler, with the validated parts of the request. */
export type ContextOf<R extends RouteConfig> = Parameters<RouteHandler<R, Environment>>[0];

/**
 * Declares a route and serves it. The handler returns a plain Response, because JSON comes from the database as text.
 */
export function serve<R extends RouteConfig>(
  { app }: Api,
  route: R,
  work: (c: ContextOf<R>) => Promise<Response>,
): void {
  if (route.request?.body?.required === true)
    app.on(route.method.toUpperCase(), route.path.replaceAll(/\{(\w+)\}/g, ":$1"), requireJson);
  app.openapi(route, work as unknown as RouteHandler<R, Environment>);
}

/** The arguments of a kernel function, taken from a request. */
export type ArgumentsOf<R extends RouteConfig> = (
  c: ContextOf<R>,
  session: ApiSession,
) => Arguments | Promise<Arguments>;

/**
 * Serves a route with a function that returns one JSON value. If it returns null, the response says that `what` is
 * not found.
 */
export function serveValue<R extends RouteConfig>(
  api: Api,
  route: R,
  name: string,
  what: string,
  args: ArgumentsOf<R>,
): void {
  serve(api, route, async (c) => {
    const text = await api.services.as(c, async (session) => session.value(name, await args(c, session)));
    return respond(required(text, what));
  });
}

/** Serves a route with a function that returns rows. The response is a page. */
export function servePage<R extends RouteConfig>(
  api: Api,
  route: R,
  name: string,
  args: ArgumentsOf<R> = () => ({}),
): void {
  serve(api, route, async (c) => {
    let limit: number | undefined;
    const rows = await api.services.as(c, async (session) => {
      const given = await args(c, session);
      limit = (given["p_filters"] as { limit?: number } | undefined)?.limit ?? (given["p_limit"] as number);
      return session.rows(name, given);
    });
    return respondPage(rows, limit);
  });
}

/**
 * Serves a route with a function that returns one row. If it returns none, the response says that `what` is not
 * found.
 */
export function serveRow<R extends RouteConfig>(
  api: Api,
  route: R,
  name: string,
  what: string,
  args: ArgumentsOf<R>,
): void {
  serve(api, route, async (c) => {
    const { text, count } = await api.services.as(c, async (session) =>
      session.rows(name, await args(c, session)),
    );
    if (count === 0) throw notFound(what);
    return respond(text.trim().slice(1, -1));
  });
}

/** Without this check, a body that is missing or not JSON would count as an empty object. */
async function requireJson(c: Context<Environment>, next: () => Promise<void>): Promise<void> {
  if (!isJsonType(c.req.header("content-type") ?? ""))
    throw new RequestError(415, "PGRST102", "The body must be JSON", {
      name: "unsupported_media_type",
      hint: "Send it with `Content-Type: application/json`.",
    });
  await next();
}

type Responses = RouteConfig["responses"];

/** A JSON response with status 200, and the problems that any request may cause. */
export function responses(schema: z.ZodType, description: string, more: Responses = {}): Responses {
  return { 200: json(schema, description), ...problems, ...more };
}

export function json(schema: z.ZodType, description: string): Responses[number] {
  return { description, content: { "application/json": { schema } } };
}

export function problem(description: string): Responses[number] {
  return { description, content: { "application/problem+json": { schema: Problem } } };
}

/** The problems that any request may cause. */
export const problems: Responses = {
  400: problem("The request is malformed, or the kernel rejects an argument"),
  401: problem("The token is missing or invalid"),
  403: problem("The token does not allow this operation, or not for this tenant"),
  413: problem("The request is too large"),
  415: problem("The body of the request is not JSON"),
  429: problem("Too many requests of this caller or address"),
  503: problem("The database cannot be reached or is overloaded"),
  504: problem("The database took too long"),
};

export function body<S extends z.ZodType>(
  schema: S,
): { readonly content: { readonly "application/json": { readonly schema: S } }; readonly required: true } {
  return { content: { "application/json": { schema } }, required: true };
}

/** A response with JSON text. */
export function respond(
  text: string,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(text, { status, headers: { "content-type": "application/json", ...headers } });
}

/** A response with a page of rows. */
export function respondPage(rows: Rows, limit?: number): Response {
  return respond(pageText(rows, limit));
}

/**
 * A page of rows as JSON. A page has a cursor if more rows may follow: it has as many rows as its limit, or so
 * many bytes that it may have been cut. Without a limit there is no next page.
 */
export function pageText({ text, bytes, count, last }: Rows, limit?: number): string {
  const mayHaveNext = limit !== undefined && (count >= limit || bytes >= cutPageBytes);
  return `{"items":${text},"cursor":${JSON.stringify(mayHaveNext ? last : null)}}`;
}

/** The text of a value. Throws a 404 error if it is null. */
export function required(text: string | null, what: string): string {
  if (text === null) throw notFound(what);
  return text;
}

export function notFound(what: string): RequestError {
  return new RequestError(404, "PGRST116", `There is no such ${what}`, { name: "not_found" });
}
