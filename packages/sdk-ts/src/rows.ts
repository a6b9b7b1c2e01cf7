/** Turns rows of the kernel into objects of the SDK: names in camel case, times as Dates, null as undefined. */

const names = new Map<string, string>();

/** The SDK's name for a column: `run_at` → `runAt`. */
export function nameOf(column: string): string {
  let name = names.get(column);
  if (name === undefined) {
    name = column.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    names.set(column, name);
  }
  return name;
}

/** Columns that hold a time although their names do not end in `_at`. */
const times = new Set([
  "at",
  "since",
  "until",
  "anchor",
  "deadline",
  "scheduled_for",
  "last_scheduled_for",
  "running_since",
  "waiting_since",
  "failing_since",
  "held_until",
]);

/** The row as `T`, which has the columns in camel case. Columns that hold JSON are left as they are. */
export function fromRow<T>(row: object): T {
  const object: Record<string, unknown> = {};
  for (const [column, value] of Object.entries(row)) object[nameOf(column)] = readValue(column, value);
  return object as T;
}

/** Every row as `T`. */
export function fromRows<T>(rows: readonly object[]): T[] {
  return rows.map((row) => fromRow<T>(row));
}

function readValue(column: string, value: unknown): unknown {
  if (value === null) return undefined;
  const isTime = column.endsWith("_at") || times.has(column);
  return isTime && typeof value === "string" ? new Date(value) : value;
}

const columns = new Map<string, string>();

/** The kernel's name for a property of the SDK: `maxAttempts` → `max_attempts`. */
function columnOf(name: string): string {
  let column = columns.get(name);
  if (column === undefined) {
    column = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    columns.set(name, column);
  }
  return column;
}

/** The object with the kernel's names for its keys. Undefined properties are left out. */
export function toKeys(object: object): Record<string, unknown> {
  const keys: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(object)) if (value !== undefined) keys[columnOf(name)] = value;
  return keys;
}
