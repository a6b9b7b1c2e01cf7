/** Calls of the kernel's functions as SQL: arguments as one JSON document, answers as JSON text that is handed on as it is. */
import type { ApiFunction } from "./catalog.ts";
import type { Session } from "./database.ts";
import { RequestError, tooDeep } from "./errors.ts";

/**
 * What stands after `from` to call a function; the answer, or one row of it, is called `f`. `place` is where the parameter with the JSON
 * object of arguments is. The names must be the function's own parameters.
 */
export function callText(called: ApiFunction, names: readonly string[], place: string): string {
  const given = names.map((each) => `${each} => a.${each}`);
  const columns = names.map((each) => `${each} ${called.parameters.get(each)}`);
  const from =
    names.length === 0
      ? `(select ${place}::json) a`
      : `json_to_record(${place}::json) as a(${columns.join()})`;
  return `${from}, lateral ${called.name}(${given.join()}) as f`;
}

export type Arguments = Readonly<Record<string, unknown>>;

/** Rows as the text of a JSON array. */
export interface Rows {
  readonly text: string;
  readonly count: number;
  /** The id of the last row, for functions whose rows have one. */
  readonly last: string | null;
}

/** A session that calls functions by name. */
export interface ApiSession extends Session {
  /** The tenant that is named, or else the caller's own; null when there is none, which the kernel refuses where it matters. */
  tenant(named: string | undefined): string | null;
  /** The answer of a function that answers one JSON value, as text; null for SQL's null. */
  value(name: string, args: Arguments): Promise<string | null>;
  rows(name: string, args: Arguments): Promise<Rows>;
}

export function apiSession(session: Session, functions: ReadonlyMap<string, ApiFunction>): ApiSession {
  const statement = (
    name: string,
    args: Arguments,
  ): { from: string; columns: ReadonlyMap<string, string>; values: string[] } => {
    const called = functions.get(name);
    const given = Object.entries(args).filter(([, value]) => value !== undefined);
    const names = given.map(([parameter]) => parameter);
    if (called === undefined || names.some((each) => !called.parameters.has(each))) throw outdated(name);
    return {
      from: callText(called, names, "$1"),
      columns: called.columns,
      values: [jsonOf(Object.fromEntries(given))],
    };
  };
  return {
    ...session,
    tenant: (named) => named ?? session.caller.tenantId ?? null,
    value: async (name, args) => {
      const { from, values } = statement(name, args);
      const [row] = await session.query<{ text: string | null }>(
        `select to_json(f)::text as text from ${from}`,
        values,
      );
      return row?.text ?? null;
    },
    rows: async (name, args) => {
      const { from, columns, values } = statement(name, args);
      const last = columns.has("id") ? "(array_agg(f.id::text))[count(*)]" : "null";
      const [row] = await session.query<Rows>(
        `select coalesce(json_agg(f), '[]')::text as text, count(*)::int as count, ${last} as last from ${from}`,
        values,
      );
      return row ?? { text: "[]", count: 0, last: null };
    },
  };
}

/** JavaScript reads JSON of any depth, and writes it up to where its stack ends. */
function jsonOf(value: object): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    throw error instanceof RangeError ? tooDeep() : error;
  }
}

function outdated(name: string): RequestError {
  return new RequestError(503, "PGRST202", `The database has no ${name} as this server knows it`, {
    name: "not_installed",
    hint: "Run `jobforge migrate` with the version of this server.",
  });
}
