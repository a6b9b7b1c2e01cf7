/** Scenarios use snake_case, seconds and ISO times; the SDK uses camelCase, milliseconds and Dates. */

export type Fields = Readonly<Record<string, unknown>>;

/** Options that are lengths of time, in seconds. */
const durations: ReadonlySet<string> = new Set([
  "delay",
  "timeout",
  "grace",
  "abort_grace",
  "heartbeat",
  "poll",
  "keep",
]);

/** The options of a call, as the SDK takes them. */
export function toOptions(fields: Fields): Record<string, never> {
  const options = Object.entries(fields).map(([name, value]): [string, unknown] => {
    if (name === "tenant") return ["tenantId", value];
    if (durations.has(name) && typeof value === "number") return [`${camel(name)}Ms`, value * 1000];
    const isTime = typeof value === "string" && /(?:_at|_after|_before|^until|^at)$/.test(name);
    return [camel(name), isTime ? new Date(value) : value];
  });
  // A scenario may pass wrong values on purpose; the SDK has to refuse them.
  return Object.fromEntries(options) as Record<string, never>;
}

/** What a call returned, under the names of scenarios. Payloads and other values of applications stay as they are. */
export function toFields(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map(toFields);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [
      snake(name),
      each instanceof Date ? each.toISOString() : (each ?? null),
    ]),
  );
}

/** The path of a wrong argument, such as `jobs[3].max_attempts`. A length of time is named without its unit. */
export function fieldOf(path: string): string {
  return snake(path.replace(/Ms\b/, "").replace(/\btenantId\b/, "tenant"));
}

function snake(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function camel(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
