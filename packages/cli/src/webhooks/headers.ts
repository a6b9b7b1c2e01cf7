/** Headers as people type them: `name: value`. */
import { UsageError } from "../failures.ts";

export type Headers = Readonly<Record<string, string>>;

/** Collects the values of an option that may be repeated. A value may contain commas. */
export function collectHeader(given: string, before: Headers | undefined): Headers {
  const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):\s*(.*\S)\s*$/.exec(given) ?? [];
  if (name === undefined || value === undefined)
    throw new UsageError(`"${given}" is not a valid header. Use the form "name: value".`);
  const lower = name.toLowerCase();
  if (before !== undefined && Object.hasOwn(before, lower))
    throw new UsageError(`The header ${lower} is given twice.`);
  return { ...before, [lower]: value };
}
