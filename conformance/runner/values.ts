/** The values of a scenario before they are sent or compared: names of tenants, references and times. */

/** The two tenants. Scenarios call them T and U, under the keys `tenant` and `tenant_id`. */
export const tenants: Readonly<Record<string, string>> = {
  T: "11111111-1111-4111-8111-111111111111",
  U: "22222222-2222-4222-8222-222222222222",
};

export interface Scope {
  /** What earlier steps have saved with `as`. */
  readonly saved: ReadonlyMap<string, unknown>;
  /** The time of the database, in epoch milliseconds. */
  now(): number;
}

/** Returns the value with tenants, `$ref`, `$time`, `$repeat` and `$units` replaced. Operators of expectations stay. */
export function resolve(value: unknown, scope: Scope, key = ""): unknown {
  if (typeof value === "string") return isTenantKey(key) ? (tenants[value] ?? value) : value;
  if (Array.isArray(value)) return value.map((each) => resolve(each, scope, key));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value);
  const [only] = entries;
  if (entries.length === 1 && only !== undefined) {
    const [name, argument] = only;
    if (name === "$ref") return refer(String(argument), scope);
    if (name === "$time") return new Date(scope.now() + Number(argument) * 1000).toISOString();
    if (name === "$repeat") return repeated(argument as [string, number]);
    if (name === "$units") return String.fromCharCode(...(argument as number[]));
  }
  return Object.fromEntries(entries.map(([name, each]) => [name, resolve(each, scope, name)]));
}

function isTenantKey(key: string): boolean {
  return key === "tenant" || key === "tenant_id";
}

function repeated([text, times]: [string, number]): string {
  return text.repeat(times);
}

/** The value of a path such as `job.id` or `jobs.0.id`. */
function refer(path: string, { saved }: Scope): unknown {
  const [name = "", ...keys] = path.split(".");
  if (!saved.has(name)) throw new Error(`$ref ${path}: no step before has saved "${name}"`);
  let value = saved.get(name);
  for (const key of keys) value = (value as Record<string, unknown> | undefined)?.[key];
  if (value === undefined) throw new Error(`$ref ${path}: there is no such value`);
  return value;
}

const unitSeconds: Readonly<Record<string, number>> = { second: 1, minute: 60, hour: 3600, day: 86_400 };

/** The seconds in a length of time such as `11 seconds`. */
export function secondsOf(length: string): number {
  const [number, unit = ""] = length.split(" ");
  return Number(number) * (unitSeconds[unit.replace(/s$/, "")] ?? Number.NaN);
}
