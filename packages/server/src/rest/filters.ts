/** PostgREST's filters as SQL. Operators come from this file, columns from the catalog, and values are parameters. */
import { RequestError } from "../errors.ts";
import { type Expression, expressionOf } from "./columns.ts";

const comparisons: ReadonlyMap<string, string> = new Map(
  Object.entries({
    eq: "=",
    neq: "<>",
    gt: ">",
    gte: ">=",
    lt: "<",
    lte: "<=",
    cs: "@>",
    cd: "<@",
    ov: "&&",
  }),
);

const states: ReadonlyMap<string, string> = new Map(
  Object.entries({
    null: "is null",
    not_null: "is not null",
    true: "is true",
    false: "is false",
    unknown: "is unknown",
  }),
);

/** Collects the values of a statement, and returns their places in its text. */
export class Parameters {
  readonly values: unknown[] = [];

  add(value: unknown): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }
}

/** Query parameters that are not filters. */
const reserved = new Set(["select", "order", "limit", "offset", "columns", "on_conflict"]);

export interface Filtering {
  readonly columns: ReadonlyMap<string, string>;
  readonly parameters: Parameters;
}

/** The condition for all filters of a query. `true` if there are none. */
export function whereOf(
  query: URLSearchParams,
  filtering: Filtering,
  skip: ReadonlySet<string> = new Set(),
): string {
  const conditions = [...query.entries()]
    .filter(([name]) => !reserved.has(name) && !skip.has(name))
    .map(([name, value]) => conditionOf(name, value, filtering));
  return conditions.length === 0 ? "true" : conditions.join(" and ");
}

/** How deep and, or and not may be nested. Each level is parsed again by every level around it. */
const maxLevels = 20;

function conditionOf(name: string, value: string, filtering: Filtering, level = 1): string {
  const [, negated, junction] = /^(not\.)?(and|or)$/.exec(name) ?? [];
  if (junction === undefined) return comparison(name, value, filtering);
  const joined = joinedConditions(junction, value, filtering, level);
  return negated === undefined ? joined : `not ${joined}`;
}

/** The conditions of a list such as `or=(status.eq.dead,and(type.eq.a,priority.gt.3))`. */
function joinedConditions(junction: string, list: string, filtering: Filtering, level: number): string {
  if (level > maxLevels)
    throw new RequestError(400, "PGRST100", `Filters are nested more than ${maxLevels} levels deep`);
  const [, inner] = /^\((.*)\)$/s.exec(list) ?? [];
  if (inner === undefined) throw malformed(list);
  const terms = splitList(inner);
  if (terms.length === 0)
    throw new RequestError(400, "PGRST100", `${junction}() contains no condition`, {
      hint: `Write conditions as ${junction}=(status.eq.dead,type.eq.mail), or leave the filter out.`,
    });
  const conditions = terms.map((term) => {
    const [, negated = "", nested, rest = ""] = /^(not\.)?(and|or)(\(.*\))$/s.exec(term) ?? [];
    if (nested !== undefined) return conditionOf(`${negated}${nested}`, rest, filtering, level + 1);
    const [, column = "", value = ""] = /^([^.]+)\.(.*)$/s.exec(term) ?? [];
    return comparison(column, withoutQuotes(value), filtering);
  });
  return `(${conditions.join(` ${junction} `)})`;
}

function comparison(column: string, text: string, filtering: Filtering): string {
  const [, negated, operator = "", value = ""] = /^(not\.)?([a-z]+)\.(.*)$/s.exec(text) ?? [];
  const compared = comparisonOf(
    expressionOf(column, filtering.columns),
    operator,
    value,
    filtering.parameters,
  );
  if (compared === undefined) throw malformed(text);
  return negated === undefined ? compared : `not (${compared})`;
}

function comparisonOf(
  { sql, type }: Expression,
  operator: string,
  value: string,
  parameters: Parameters,
): string | undefined {
  if (operator === "is") {
    const state = states.get(value.toLowerCase());
    return state === undefined ? undefined : `${sql} ${state}`;
  }
  if (operator === "in") {
    const [, inner] = /^\((.*)\)$/s.exec(value) ?? [];
    return inner === undefined
      ? undefined
      : `${sql} = any (${parameters.add(splitList(inner).map(unquoted))}::${type}[])`;
  }
  if (operator === "like" || operator === "ilike")
    return `(${sql})::text ${operator} ${parameters.add(value.replaceAll("*", "%"))}`;
  const sign = comparisons.get(operator);
  return sign === undefined ? undefined : `${sql} ${sign} ${parameters.add(value)}::${type}`;
}

/** Splits a list at commas that are neither quoted nor in brackets. */
function splitList(text: string): string[] {
  const items: string[] = [];
  let item = "";
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at] ?? "";
    if (quoted && character === "\\") {
      item += character + (text[at + 1] ?? "");
      at += 1;
      continue;
    }
    if (character === '"') quoted = !quoted;
    else if (!quoted && "({[".includes(character)) depth += 1;
    else if (!quoted && ")}]".includes(character)) depth -= 1;
    if (character === "," && !quoted && depth === 0) {
      items.push(item);
      item = "";
    } else item += character;
  }
  if (item !== "" || items.length > 0) items.push(item);
  return items;
}

function unquoted(text: string): string {
  const [, inner] = /^"(.*)"$/s.exec(text) ?? [];
  return inner === undefined ? text : inner.replaceAll(/\\(.)/gs, "$1");
}

/**
 * Inside a list a value with commas or brackets is quoted: `eq."a,b"`. The values of `in` are unquoted one by one
 * elsewhere.
 */
function withoutQuotes(text: string): string {
  const [, operator = "", quoted] = /^((?:not\.)?(?!in\.)[a-z]+\.)("(?:[^"\\]|\\.)*")$/s.exec(text) ?? [];
  return quoted === undefined ? text : operator + unquoted(quoted);
}

function malformed(text: string): RequestError {
  return new RequestError(400, "PGRST100", `"failed to parse filter (${text})"`, {
    hint: "Filters are eq, neq, gt, gte, lt, lte, in, is, like, ilike, cs, cd and ov. Each can be preceded by not.",
  });
}
