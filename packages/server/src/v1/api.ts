/** What routes of /v1 share: how they are declared, answered and paged. Each file beside this one is a resource. */
import { type OpenAPIHono, type RouteConfig, type RouteHandler, z } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { ApiSession, Arguments, Rows } from "../calls.ts";
import { RequestError } from "../errors.ts";
import type { Environment, Services } from "../services.ts";
import { Id, Problem } from "./schemas/basic.ts";

export interface Api {
  readonly app: OpenAPIHono<Environment>;
  readonly services: Services;
}

/** The context of a route's handler, with what was validated. */
export type ContextOf<R extends RouteConfig> = Parameters<RouteHandler<R, Environment>>[0];

/** Declares a route and serves it. The answer is a plain response, because JSON comes from the database as text. */
export function serve<R extends RouteConfig>(
  { app }: Api,
  route: R,
  work: (c: ContextOf<R>) => Promise<Response>,
): void {
  if (route.request?.body?.required === true)
    app.on(route.method.toUpperCase(), route.path.replaceAll(/\{(\w+)\}/g, ":$1"), requireJson);
  app.openapi(route, work as unknown as RouteHandler<R, Environment>);
}

/** What a function of the kernel is called with, for a request. */
export type ArgumentsOf<R extends RouteConfig> = (c: ContextOf<R>, session: ApiSession) => Arguments;

/** Serves a route by a function that answers one JSON value; nothing means that there is no such `what`. */
export function serveValue<R extends RouteConfig>(
  api: Api,
  route: R,
  name: string,
  what: string,
  args: ArgumentsOf<R>,
): void {
  serve(api, route, async (c) => {
    const text = await api.services.as(c, (session) => session.value(name, args(c, session)));
    return respond(required(text, what));
  });
}

/** Serves a route by a function that answers rows, as a page. */
export function servePage<R extends RouteConfig>(
  api: Api,
  route: R,
  name: string,
  args: ArgumentsOf<R> = () => ({}),
): void {
  serve(api, route, async (c) => {
    let limit: number | undefined;
    const rows = await api.services.as(c, (session) => {
      const given = args(c, session);
      ({ limit } = (given["p_filters"] ?? {}) as { limit?: number });
      return session.rows(name, given);
    });
    return respondPage(rows, limit);
  });
}

/** Serves a route by a function that answers one row, or none when there is no such `what`. */
export function serveRow<R extends RouteConfig>(
  api: Api,
  route: R,
  name: string,
  what: string,
  args: ArgumentsOf<R>,
): void {
  serve(api, route, async (c) => {
    const { text, count } = await api.services.as(c, (session) => session.rows(name, args(c, session)));
    if (count === 0) throw notFound(what);
    return respond(text.trim().slice(1, -1));
  });
}

/** Without it, a body that is missing or something else would count as an empty object. */
async function requireJson(c: Context<Environment>, next: () => Promise<void>): Promise<void> {
  if (!/^application\/([\w.-]+\+)?json *(;|$)/i.test(c.req.header("content-type") ?? ""))
    throw new RequestError(415, "PGRST102", "The body must be JSON", {
      name: "unsupported_media_type",
      hint: "Send it with `Content-Type: application/json`.",
    });
  await next();
}

type Answers = RouteConfig["responses"];

/** A JSON answer, and the problems that any request may meet. */
export function answers(schema: z.ZodType, description: string, more: Answers = {}): Answers {
  return { 200: json(schema, description), ...problems, ...more };
}

export function json(schema: z.ZodType, description: string): Answers[number] {
  return { description, content: { "application/json": { schema } } };
}

export function problem(description: string): Answers[number] {
  return { description, content: { "application/problem+json": { schema: Problem } } };
}

/** What any request may meet. */
export const problems: Answers = {
  400: problem("The request is malformed, or the kernel refuses an argument"),
  401: problem("There is no token, or it is not valid"),
  403: problem("The token may not do this, or not for this tenant"),
  413: problem("The request is too large"),
  415: problem("The request's body is not JSON"),
  429: problem("Too many requests with this token"),
  503: problem("The database cannot be reached or is overloaded"),
  504: problem("The database took too long"),
};

export function body<S extends z.ZodType>(
  schema: S,
): { readonly content: { readonly "application/json": { readonly schema: S } }; readonly required: true } {
  return { content: { "application/json": { schema } }, required: true };
}

/** A page of rows, and where the next one begins. */
export function pageOf(schema: z.ZodType): z.ZodType {
  return z.looseObject({
    items: z.array(schema),
    cursor: z
      .string()
      .nullable()
      .openapi({ description: "Pass it as `cursor` for the next page; null after the last" }),
  });
}

export const tenantParameter = {
  tenant_id: Id.optional().openapi({ description: "Whose. Default: the token's own tenant" }),
};

export const tenantQuery = z.strictObject(tenantParameter);

export const limitParameter = {
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(1000)
    .default(50)
    .openapi({ type: "integer", minimum: 1, maximum: 1000, default: 50 }),
};

/** One value or several: `status=dead&status=failed`. */
export const several = <S extends z.ZodType>(schema: S): z.ZodType<z.output<S>[] | undefined> =>
  z.preprocess(
    (given) => (typeof given === "string" ? [given] : given),
    z.array(schema).max(100).optional(),
  ) as never;

export const idParameter = z.object({ id: Id });

/** JSON text as an answer. */
export function respond(
  text: string,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(text, { status, headers: { "content-type": "application/json", ...headers } });
}

/** Rows as a page. A full page may have a next one. */
export function respondPage({ text, count, last }: Rows, limit = Number.POSITIVE_INFINITY): Response {
  return respond(`{"items":${text},"cursor":${JSON.stringify(count < limit ? null : last)}}`);
}

/** The text of a value that must be there. */
export function required(text: string | null, what: string): string {
  if (text === null) throw notFound(what);
  return text;
}

export function notFound(what: string): RequestError {
  return new RequestError(404, "PGRST116", `There is no such ${what}`, { name: "not_found" });
}
