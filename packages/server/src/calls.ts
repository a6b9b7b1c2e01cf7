/**
 * Calls of the kernel's functions in SQL. The arguments are sent as one JSON document. Results are read as JSON text,
 * which goes into the response unchanged.
 */
import { maxBytesOf, type Rows, readRows, readValue, rowsStatement, valueStatement } from "./answers.ts";
import type { CatalogFunction } from "./catalog.ts";
import type { Session } from "./database.ts";
import { RequestError, tooDeep } from "./errors.ts";
import { JsonText } from "./json-text.ts";

/**
 * The `from` clause that calls a function, without the word `from`. `f` is the result or one row of it. `place` is
 * the place of the statement's parameter that holds the JSON object of arguments, such as `$1`. Every name must be a
 * parameter of the function. Throws if another role has a function of the same name.
 */
export function fromClause(called: CatalogFunction, names: readonly string[], place: string): string {
  if (called.overloaded) throw overloaded(called.name);
  const given = names.map((each) => `${each} => a.${each}`);
  const columns = names.map((each) => `${each} ${called.parameters.get(each)}`);
  const from =
    names.length === 0
      ? `(select ${place}::json) a`
      : `json_to_record(${place}::json) as a(${columns.join()})`;
  return `${from}, lateral ${called.name}(${given.join()}) as f`;
}

export type Arguments = Readonly<Record<string, unknown>>;

/** A session that calls functions by name. */
export interface ApiSession extends Session {
  /**
   * The named tenant, or else the caller's own. Null if there is neither; the kernel refuses null where a tenant is
   * required.
   */
  tenant(named: string | undefined): string | null;
  /** Calls a function that returns one JSON value. Returns its text, or null for SQL's null. */
  value(name: string, args: Arguments): Promise<string | null>;
  /** Calls a function that returns rows. */
  rows(name: string, args: Arguments): Promise<Rows>;
}

export function apiSession(session: Session, functions: ReadonlyMap<string, CatalogFunction>): ApiSession {
  const statement = (
    name: string,
    args: Arguments,
  ): { called: CatalogFunction; from: string; values: string[] } => {
    const called = functions.get(name);
    const given = Object.entries(args).filter(([, value]) => value !== undefined);
    const names = given.map(([parameter]) => parameter);
    if (called === undefined || names.some((each) => !called.parameters.has(each))) throw notInstalled(name);
    return {
      called,
      from: fromClause(called, names, "$1"),
      values: [jsonOf(Object.fromEntries(given))],
    };
  };
  return {
    ...session,
    tenant: (named) => named ?? session.caller.tenantId ?? null,
    value: async (name, args) => {
      const { called, from, values } = statement(name, args);
      const most = maxBytesOf(called);
      return readValue(await session.query(valueStatement(from, most), values), most);
    },
    rows: async (name, args) => {
      const { called, from, values } = statement(name, args);
      const key = cursorColumns.find((column) => called.columns.has(column));
      const id = key === undefined ? "null" : `f.${key}::text`;
      const items = `select to_json(f)::text as item, ${id} as id from ${from}`;
      const most = maxBytesOf(called);
      return readRows(await session.query(rowsStatement(items, most), values), most);
    },
  };
}

/** The columns that a cursor names, by precedence. */
const cursorColumns = ["id", "attempt_no", "tenant_id"];

/** JSON.parse accepts any depth, but JSON.stringify fails when the stack is exhausted. */
function jsonOf(args: Arguments): string {
  try {
    const members = Object.entries(args).map(
      ([name, value]) =>
        `${JSON.stringify(name)}:${value instanceof JsonText ? value.text : JSON.stringify(value)}`,
    );
    return `{${members.join()}}`;
  } catch (error) {
    throw error instanceof RangeError ? tooDeep() : error;
  }
}

function overloaded(name: string): RequestError {
  return new RequestError(503, "PGRST203", `Another role has created a function called ${name}`, {
    name: "not_installed",
    hint: "Run `jobforge doctor`, drop that function, and revoke the right to create objects in the API schema.",
  });
}

function notInstalled(name: string): RequestError {
  return new RequestError(
    503,
    "PGRST202",
    `The database has no function ${name} with the parameters that this server needs`,
    {
      name: "not_installed",
      hint: "Run `jobforge migrate` of the same version as this server.",
    },
  );
}
