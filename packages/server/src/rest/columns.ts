/** The parts of a PostgREST query that name columns: select, filters and order. */
import pg from "pg";
import { RequestError } from "../errors.ts";

/** A column or a part of a JSON column, as SQL, with its type. */
export interface Expression {
  readonly sql: string;
  readonly type: string;
  /** Its name in the result if the query gives no alias. */
  readonly name: string;
}

/** The types that a selected column may be cast to. */
const castable = new Set([
  "text",
  "integer",
  "bigint",
  "numeric",
  "boolean",
  "timestamptz",
  "date",
  "uuid",
  "jsonb",
]);

/** Parses an expression such as `payload->customer->>email`. Throws if the column does not exist. */
export function expressionOf(text: string, columns: ReadonlyMap<string, string>): Expression {
  refuseNul(text);
  const [, column = "", path = ""] = /^(\w+)((?:->>?[^->:,()]+)*)$/.exec(text) ?? [];
  const type = columns.get(column);
  if (type === undefined) throw new RequestError(400, "42703", `There is no column ${text}`);
  const steps = [...path.matchAll(/(->>?)([^->]+)/g)];
  if (steps.length === 0) return { sql: pg.escapeIdentifier(column), type, name: column };
  if (type !== "jsonb" && type !== "json")
    throw new RequestError(400, "42883", `The column ${column} is not JSON, so -> and ->> cannot be used`);
  const sql = steps.map(([, arrow = "->", key = ""]) => `${arrow}${keyOf(key)}`).join("");
  const [, lastArrow, lastKey = column] = steps.at(-1) ?? [];
  return {
    sql: `${pg.escapeIdentifier(column)}${sql}`,
    type: lastArrow === "->>" ? "text" : "jsonb",
    name: lastKey,
  };
}

/**
 * Names become part of the statement, and on its way to the database the text of a statement ends at a NUL character.
 */
function refuseNul(text: string): void {
  if (text.includes("\0"))
    throw new RequestError(400, "22021", "The name of a column or of a JSON key contains a NUL character");
}

/** A number is an index of an array, anything else is a key. */
function keyOf(key: string): string {
  return /^-?\d{1,9}$/.test(key) ? key : pg.escapeLiteral(key);
}

/**
 * The select list for `select=id,name:payload->>name,created_at::date`. Throws if a column or a part of one is selected
 * twice: with a hundred names, one payload would be a hundred times as large.
 */
export function selectList(text: string | undefined, columns: ReadonlyMap<string, string>): string {
  const items = (text ?? "*")
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
  if (items.length === 0) return "*";
  const sources = new Set<string>();
  return items.map((item) => selected(item, columns, sources)).join(", ");
}

/** `sources` are the expressions that are selected already. */
function selected(item: string, columns: ReadonlyMap<string, string>, sources: Set<string>): string {
  if (item === "*") {
    take("*", item, sources);
    return "*";
  }
  refuseNul(item);
  if (item.includes("(")) throw new RequestError(400, "PGRST200", `There is no relationship for ${item}`);
  const [, alias, source = "", cast] = /^(?:([^:]+):(?!:))?([^:]+)(?:::(\w+))?$/.exec(item) ?? [];
  const { sql, name } = expressionOf(source, columns);
  take(sql, item, sources);
  if (cast !== undefined && !castable.has(cast))
    throw new RequestError(400, "42704", `There is no cast to ${cast}`);
  const value = cast === undefined ? sql : `(${sql})::${cast}`;
  return `${value} as ${pg.escapeIdentifier(alias ?? name)}`;
}

function take(source: string, item: string, sources: Set<string>): void {
  if (sources.has(source))
    throw new RequestError(400, "42701", `select=${item} selects a column that is selected already`, {
      hint: "Select each column, and each part of a JSON column, once.",
    });
  sources.add(source);
}

/** The order by clause for `order=created_at.desc.nullslast,id`. Empty if there is no order. */
export function orderBy(text: string, columns: ReadonlyMap<string, string>): string {
  if (text === "") return "";
  const terms = text.split(",").map((term) => {
    const [, column = "", direction, nulls] =
      /^(.*?)(?:\.(asc|desc))?(?:\.nulls(first|last))?$/.exec(term) ?? [];
    const { sql } = expressionOf(column, columns);
    return `${sql} ${direction ?? "asc"}${nulls === undefined ? "" : ` nulls ${nulls}`}`;
  });
  return `order by ${terms.join(", ")}`;
}
