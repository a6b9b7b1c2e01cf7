/**
 * Calls as SQL. Every parameter is a text or null, cast in the statement, and every answer is one text of JSON in a column
 * called `answer`; parameters are numbered in the order in which they occur. So nothing depends on how a driver or the library around it turns values into SQL and back, and an adapter
 * has nothing to do but pass texts.
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
  /** Whether calls for a tenant also name it in the setting `app.tenant_id`, when the caller has not. */
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
      const tenant = options.nameTenant && called.namesTenant ? values[given.indexOf("p_tenant_id")] : null;
      const first = tenant ? [tenant] : [];
      const key = `${name} ${given.join()} ${first.length}`;
      let text = texts.get(key);
      if (text === undefined) {
        text = named(first, answerOf(called, callText(schema, name, called, given, first.length)));
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
    (parameter, index) => `${parameter} => $${before + index + 1}::${called.parameters.get(parameter)}`,
  );
  return `${schema}.${name}(${named.join(", ")})`;
}

function answerOf(called: ApiFunction, call: string): string {
  if (called.returns === "rows") return `(select coalesce(json_agg(r), '[]')::text from ${call} r)`;
  // JSON writes a time as HTTP does, whatever the session's date style is.
  return called.returns === "timestamptz" ? `to_json(${call})::text` : `${call}::text`;
}

/**
 * The statement that answers an expression. With a tenant, which is the first parameter then, it names the tenant while the
 * expression is evaluated, unless the session or transaction has named one itself, which then stands guard; afterwards the setting
 * is what it was before. A login with `jobforge_app` needs that; others are not affected. `offset 0` keeps the look before the change.
 */
function named(tenant: readonly string[], expression: string): string {
  if (tenant.length === 0) return `select ${expression} as answer`;
  return (
    `select set_config('app.tenant_id', coalesce(nullif(s.before, ''), $1), true), ${expression} as answer, ` +
    `set_config('app.tenant_id', s.before, true) ` +
    `from (select coalesce(current_setting('app.tenant_id', true), '') as before offset 0) s`
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
  if (type === "text[]" && Array.isArray(value)) return arrayLiteral(value);
  if (value instanceof Date) return value.toISOString();
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
