/**
 * Calls as SQL. Every parameter is a text or null and is cast in the statement. Every result is one JSON text in a
 * column called `result`. Parameters are numbered in the order in which they occur. So nothing depends on how a driver
 * or the library around it converts values, and an adapter only passes texts. The session and its search path belong to
 * the application, so every function, operator and type is written with its schema.
 */
import { InvalidArgumentError } from "../../errors.ts";
import { JsonText } from "../../json.ts";
import { type ApiFunction, apiFunctions } from "../functions.ts";
import type { CallArguments } from "../transport.ts";

export interface Statement {
  readonly text: string;
  readonly values: readonly (string | null)[];
}

export interface StatementOptions {
  /** The API schema. */
  readonly schema: string;
  /** Whether calls for a tenant also set `app.tenant_id` to it, unless the caller has set it. */
  readonly nameTenant: boolean;
}

export interface Statements {
  call(name: string, args: CallArguments): Statement;
}

export function statements(options: StatementOptions): Statements {
  const schema = quoteIdentifier(options.schema);
  const texts = new Map<string, string>();
  return {
    call: (name, args) => {
      const called = apiFunctions.get(name) ?? failUnknown(`There is no function ${name}`, name);
      const given = Object.keys(args).filter((parameter) => args[parameter] !== undefined);
      const values = given.map((parameter) =>
        encode(args[parameter], typeOf(called, name, parameter), parameter),
      );
      const tenant = options.nameTenant ? tenantOf(called, args) : undefined;
      const first = tenant === undefined ? [] : [tenant];
      const key = `${name} ${given.join()} ${first.length}`;
      let text = texts.get(key);
      if (text === undefined) {
        text = withTenant(first, resultOf(called, callText(schema, name, called, given, first.length)));
        texts.set(key, text);
      }
      return { text, values: [...first, ...values] };
    },
  };
}

function callText(
  schema: string,
  name: string,
  called: ApiFunction,
  given: readonly string[],
  before: number,
): string {
  const named = given.map(
    (parameter, index) =>
      `${parameter} => $${before + index + 1}::${typeName(called.parameters.get(parameter))}`,
  );
  return `${schema}.${name}(${named.join(", ")})`;
}

/** The tenant for which a call acts, or the tenants with commas between them. Undefined for none. */
function tenantOf({ tenant }: ApiFunction, args: CallArguments): string | undefined {
  const named = tenant === undefined ? undefined : args[tenant];
  if (Array.isArray(named)) return [...new Set(named)].join();
  return typeof named === "string" ? named : undefined;
}

/** Types that are words of SQL. They always mean the system's, and have other names in its schema. */
const sqlTypes = /^(boolean|integer|bigint|interval|numeric)\b/;

function typeName(type = "text"): string {
  return sqlTypes.test(type) ? type : `pg_catalog.${type}`;
}

function resultOf(called: ApiFunction, call: string): string {
  if (called.returns === "rows")
    return `(select coalesce(pg_catalog.json_agg(r), '[]')::pg_catalog.text from ${call} r)`;
  // As JSON, a time has the same form as over HTTP, whatever the date style of the session is.
  return called.returns === "timestamptz" || called.returns === "uuid"
    ? `pg_catalog.to_json(${call})::pg_catalog.text`
    : `${call}::pg_catalog.text`;
}

/**
 * The statement that selects an expression. With a tenant, which is the first parameter, the statement sets
 * `app.tenant_id` while the expression is evaluated, and restores it afterwards. A tenant that the session or
 * transaction has set itself stays, as a guard. A login with `jobforge_app` needs the setting; others are not affected.
 * `offset 0` makes Postgres read the setting before it is changed.
 */
function withTenant(tenant: readonly string[], expression: string): string {
  if (tenant.length === 0) return `select ${expression} as result`;
  return (
    `select pg_catalog.set_config('app.tenant_id', ` +
    `case when s.before operator(pg_catalog.=) '' then $1 else s.before end, true) as named, ` +
    `${expression} as result, pg_catalog.set_config('app.tenant_id', s.before, true) as restored ` +
    `from (select coalesce(pg_catalog.current_setting('app.tenant_id', true), '') as before offset 0) s`
  );
}

function typeOf(called: ApiFunction, name: string, parameter: string): string {
  return called.parameters.get(parameter) ?? failUnknown(`${name} has no parameter ${parameter}`, parameter);
}

function failUnknown(message: string, field: string): never {
  throw new InvalidArgumentError(message, { field });
}

function encode(value: unknown, type: string, parameter: string): string | null {
  if (value === null) return null;
  if (value instanceof JsonText) return value.text;
  if (type === "jsonb") return JSON.stringify(value);
  if (type.endsWith("[]") && Array.isArray(value)) return arrayLiteral(value);
  // Not Z: from Postgres 18 on, that may be an abbreviation of the session's own time zone.
  if (value instanceof Date) return value.toISOString().replace("Z", "+00:00");
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean")
    return String(value);
  return failUnknown(`${parameter} cannot be passed as ${type}`, parameter);
}

function arrayLiteral(elements: readonly unknown[]): string {
  const quoted = elements.map((each) =>
    each === null ? "NULL" : `"${String(each).replaceAll(/["\\]/g, "\\$&")}"`,
  );
  return `{${quoted.join()}}`;
}

function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
