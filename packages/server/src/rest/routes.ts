/**
 * The part of PostgREST's API that clients of JobForge use: functions at /rest/v1/rpc/{function}, views at
 * /rest/v1/{view}.
 */
import { type Context, Hono } from "hono";
import { maxBytesOf, type Rows, readRows, readValue, rowsStatement, valueStatement } from "../answers.ts";
import { fromClause } from "../calls.ts";
import type { CatalogFunction, View } from "../catalog.ts";
import type { Session } from "../database.ts";
import { RequestError } from "../errors.ts";
import type { Environment, Services } from "../services.ts";
import { orderBy, selectList } from "./columns.ts";
import { Parameters, whereOf } from "./filters.ts";
import { describeRange, type Window, windowOf } from "./page.ts";

export function restRoutes(services: Services): Hono<Environment> {
  const app = new Hono<Environment>();
  // Hono serves HEAD requests with GET routes.
  app.get("/rpc/:name", async (c) => call(services, c, await queryArguments(services, c)));
  app.post("/rpc/:name", async (c) => call(services, c, await bodyOf(c)));
  app.all("/rpc/:name", (c) => refuseMethod(c, "GET, HEAD, POST"));
  app.get("/:view", (c) => read(services, c));
  app.all("/:view", async (c) => {
    await viewOf(services, c);
    return refuseMethod(c, "GET, HEAD");
  });
  return app;
}

function refuseMethod(c: RestContext, allow: string): never {
  throw new RequestError(405, "PGRST117", `${c.req.method} is not allowed for ${c.req.path}`, {
    headers: { allow },
  });
}

type RestContext = Context<Environment>;

/** Where rows come from: a `from` clause, and the name of one row in it. */
interface Source {
  readonly from: string;
  readonly row: string;
  readonly columns: ReadonlyMap<string, string>;
  /** Query parameters that are arguments, not filters. */
  readonly argumentNames: ReadonlySet<string>;
  /**
   * The most rows in one response. The rows of a function are never cut off: rows that a claim returns are taken.
   */
  readonly maxRows: number;
  /** The most bytes in one response. */
  readonly maxBytes: number;
}

/**
 * The arguments in a query as the text of a JSON object. Arguments of a JSON type are copied, the others become
 * strings.
 */
async function queryArguments({ catalog }: Services, c: RestContext): Promise<string> {
  const called = await catalog.function(c.req.param("name") ?? "");
  const given = new Map([...queryOf(c)].filter(([name]) => name.startsWith("p_")));
  const texts = [...given].map(([name, value]) => {
    const isJson = /^jsonb?$/.test(called?.parameters.get(name) ?? "");
    if (isJson) requireJson(name, value);
    return `${JSON.stringify(name)}:${isJson ? value : JSON.stringify(value)}`;
  });
  return `{${texts.join()}}`;
}

function requireJson(name: string, value: string): void {
  try {
    JSON.parse(value);
  } catch {
    throw new RequestError(400, "PGRST102", `The argument ${name} is not valid JSON`, {
      name: "invalid_argument",
      field: name,
    });
  }
}

function queryOf(c: RestContext): URLSearchParams {
  return new URL(c.req.url).searchParams;
}

/**
 * The named arguments as the text of a JSON object. The text goes to the database unchanged, so that no number loses
 * digits.
 */
async function bodyOf(c: RestContext): Promise<string> {
  const text = await c.req.text();
  return text.trim() === "" ? "{}" : text;
}

async function call(services: Services, c: RestContext, text: string): Promise<Response> {
  requireSchema(services, c, "content-profile");
  const name = c.req.param("name") ?? "";
  const names = namesIn(text);
  const called = await services.catalog.function(name);
  if (called === undefined || names.some((each) => !called.parameters.has(each)))
    throw new RequestError(
      404,
      "PGRST202",
      `Could not find the function ${services.settings.apiSchema}.${name}(${names.join(", ")}) in the schema cache`,
      {
        hint: "Check the names of the function and its arguments. The database may have an older version of JobForge.",
      },
    );
  if (c.req.method !== "POST" && !called.readsOnly)
    throw new RequestError(405, "25006", `${name} writes to the database: call it with POST`, {
      headers: { allow: "POST" },
    });
  const parameters = new Parameters();
  const from = fromClause(called, names, parameters.add(text));
  if (called.returns !== "rows")
    return await services.as(c, (session) => respondValue(c, session, called, from, parameters));
  const argumentNames = c.req.method === "POST" ? noArguments : new Set(names);
  const { columns } = called;
  const maxBytes = maxBytesOf(called);
  const source = { from, row: "f", columns, argumentNames, maxRows: noLimit, maxBytes };
  return await respondRows(services, c, source, parameters);
}

function namesIn(text: string): string[] {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    throw new RequestError(400, "PGRST102", "The body is not valid JSON", { name: "invalid_argument" });
  }
  if (typeof read !== "object" || read === null || Array.isArray(read))
    throw new RequestError(400, "PGRST102", "The body must be a JSON object of named arguments", {
      name: "invalid_argument",
    });
  return Object.keys(read);
}

async function respondValue(
  c: RestContext,
  session: Session,
  called: CatalogFunction,
  from: string,
  parameters: Parameters,
): Promise<Response> {
  if (called.returns === "nothing") {
    await session.query(`select from ${from}`, parameters.values);
    return c.body(null, 204);
  }
  const maxBytes = maxBytesOf(called);
  const source = called.returns === "values" ? `(select json_agg(f) as f from ${from}) v` : from;
  const text = readValue(await session.query(valueStatement(source, maxBytes), parameters.values), maxBytes);
  return c.body(text ?? "null", 200, { "content-type": "application/json; charset=utf-8" });
}

async function viewOf({ catalog, settings }: Services, c: RestContext): Promise<View> {
  const name = c.req.param("view") ?? "";
  const view = await catalog.view(name);
  if (view === undefined)
    throw new RequestError(
      404,
      "PGRST205",
      `Could not find the table '${settings.apiSchema}.${name}' in the schema cache`,
    );
  return view;
}

async function read(services: Services, c: RestContext): Promise<Response> {
  requireSchema(services, c, "accept-profile");
  const view = await viewOf(services, c);
  const { maxRows } = services.settings;
  const source = {
    from: `${view.name} as v`,
    row: "v",
    columns: view.columns,
    argumentNames: noArguments,
    maxRows,
    maxBytes: maxBytesOf({ readsOnly: true }),
  };
  return await respondRows(services, c, source, new Parameters());
}

const noArguments: ReadonlySet<string> = new Set();
/** The largest value of a Postgres integer. */
const noLimit = 2 ** 31 - 1;

/** Responds with the rows of a view or a function, filtered, ordered and limited by the query. */
async function respondRows(
  services: Services,
  c: RestContext,
  { from, row, columns, argumentNames, maxRows, maxBytes }: Source,
  parameters: Parameters,
): Promise<Response> {
  const query = queryOf(c);
  const window = windowOf(query, c.req.raw.headers, maxRows);
  const where = whereOf(query, { columns, parameters }, argumentNames);
  const ordered = orderBy(query.get("order") ?? "", columns);
  const selected = selectList(query.get("select") ?? undefined, columns);
  const found = `found as (select * from (select ${row}.* from ${from}) r where ${where})`;
  const page = `page as (select ${selected} from found ${ordered}
    limit ${parameters.add(window.limit)}::int offset ${parameters.add(window.offset)}::int)`;
  const total = window.countsAll ? "(select count(*)::int from found)" : "null";
  // `p.*` is the row even if a column is called p.
  const items = "select row_to_json(p.*)::text as item, null as id from page p";
  const text = rowsStatement(items, maxBytes, [found, page], `, ${total} as total`);
  const rows = await services.as(c, async (session) =>
    readRows(await session.query<Page>(text, parameters.values), maxBytes),
  );
  return shape(c, window, rows);
}

interface Page extends Rows {
  readonly isTooLarge: boolean;
  readonly total: number | null;
}

function shape(c: RestContext, window: Window, { text, count, total }: Page): Response {
  const { status, contentRange } = describeRange(window, count, total ?? undefined);
  const headers = { "content-type": "application/json; charset=utf-8", "content-range": contentRange };
  if (c.req.header("accept")?.includes("application/vnd.pgrst.object") !== true)
    return c.body(text, status, headers);
  if (count !== 1)
    throw new RequestError(406, "PGRST116", "Cannot coerce the result to a single JSON object", {
      hint: `The result contains ${count} rows`,
    });
  // The text of an array with one element, without its brackets.
  return c.body(text.slice(1, -1), status, {
    ...headers,
    "content-type": "application/vnd.pgrst.object+json; charset=utf-8",
  });
}

/** Clients may name the schema in a header. Only the API schema is allowed. */
function requireSchema({ settings }: Services, c: RestContext, header: string): void {
  const named = c.req.header(header) ?? settings.apiSchema;
  if (named !== settings.apiSchema)
    throw new RequestError(406, "PGRST106", `The schema must be ${settings.apiSchema}`);
}
