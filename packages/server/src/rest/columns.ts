/** The parts of a PostgREST query that name columns: select, filters and order. */
import pg from "pg";
import { RequestError } from "../errors.ts";

/** A column or a part of a JSON column, as SQL, with its type. */
export interface Expression {
  readonly sql: string;
  readonly type: string;
  /** Its name in the result if the query gives no alias. */
  readonly name: string;
  /** The column, and the steps into its JSON, each in one spelling. */
  readonly path: readonly string[];
}

/** The most parts of JSON columns in one select. */
const maxParts = 32;

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
  if (steps.length === 0) return { sql: pg.escapeIdentifier(column), type, name: column, path: [column] };
  if (type !== "jsonb" && type !== "json")
    throw new RequestError(400, "42883", `The column ${column} is not JSON, so -> and ->> cannot be used`);
  const keys = steps.map(([, arrow = "->", key = ""]) => ({ arrow, key: keyOf(key) }));
  const sql = keys.map(({ arrow, key }) => `${arrow}${key}`).join("");
  const [, lastArrow, lastKey = column] = steps.at(-1) ?? [];
  return {
    sql: `${pg.escapeIdentifier(column)}${sql}`,
    type: lastArrow === "->>" ? "text" : "jsonb",
    name: lastKey,
    path: [column, ...keys.map(({ key }) => key)],
  };
}

/**
 * Names become part of the statement, and on its way to the database the text of a statement ends at a NUL character.
 */
function refuseNul(text: string): void {
  if (text.includes("\0"))
    throw new RequestError(400, "22021", "The name of a column or of a JSON key contains a NUL character");
}

/** A number is an index of an array, anything else is a key. An index has one spelling: `00` becomes `0`. */
function keyOf(key: string): string {
  return /^\d{1,9}$/.test(key) ? String(Number(key)) : pg.escapeLiteral(key);
}

/**
 * The select list for `select=id,name:payload->>name,created_at::date`. Throws if a column or a part of one is selected
 * twice: with a hundred names, one payload would be a hundred times as large. A part and what contains it count as the
 * same. `*` may be selected in addition, because that at most doubles the row.
 */
export function selectList(text: string | undefined, columns: ReadonlyMap<string, string>): string {
  const items = (text ?? "*")
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
  if (items.length === 0) return "*";
  const sources: (readonly string[])[] = [];
  return items.map((item) => selected(item, columns, sources)).join(", ");
}

/** `sources` are the paths that are selected already. */
function selected(
  item: string,
  columns: ReadonlyMap<string, string>,
  sources: (readonly string[])[],
): string {
  if (item === "*") {
    take(["*"], item, sources);
    return "*";
  }
  refuseNul(item);
  if (item.includes("(")) throw new RequestError(400, "PGRST200", `There is no relationship for ${item}`);
  const [, alias, source = "", cast] = /^(?:([^:]+):(?!:))?([^:]+)(?:::(\w+))?$/.exec(item) ?? [];
  const { sql, name, path } = expressionOf(source, columns);
  take(path, item, sources);
  if (cast !== undefined && !castable.has(cast))
    throw new RequestError(400, "42704", `There is no cast to ${cast}`);
  const value = cast === undefined ? sql : `(${sql})::${cast}`;
  return `${value} as ${pg.escapeIdentifier(alias ?? name)}`;
}

function take(path: readonly string[], item: string, sources: (readonly string[])[]): void {
  if (path.length > 1 && sources.filter(({ length }) => length > 1).length >= maxParts)
    throw new RequestError(400, "54011", `select has more than ${maxParts} parts of JSON columns`, {
      hint: "Select the whole column, or send several requests.",
    });
  if (sources.some((source) => overlap(source, path)))
    throw new RequestError(400, "42701", `select=${item} selects a column that is selected already`, {
      hint: "Select each column, and each part of a JSON column, once.",
    });
  sources.push(path);
}

/** Whether one path leads to a value that the other contains: all steps that both have are the same. */
function overlap(first: readonly string[], second: readonly string[]): boolean {
  const common = Math.min(first.length, second.length);
  return first.slice(0, common).every((step, position) => step === second[position]);
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
