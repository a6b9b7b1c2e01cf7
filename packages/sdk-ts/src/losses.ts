/**
 * Finds what JSON would lose without a word: a Map becomes `{}`, NaN becomes null, a function disappears, the bytes of
 * a Uint8Array become an object with numbered keys. One walk
 * over the value, which builds texts only when it finds something.
 */

/** What is lost, and where. */
export interface Loss {
  /** The path from the value, such as `.lines[0].price`; empty for the value itself. */
  readonly place: string;
  readonly reason: string;
  readonly hint: string;
}

export interface Inspection {
  readonly loss: Loss | undefined;
  /** Whether the JSON form differs from the value: a Date becomes a text, an undefined property disappears. */
  readonly changes: boolean;
}

export const plainHint = "Pass plain JSON values: objects, arrays, strings, numbers, booleans, null.";
const unchanged: Inspection = { loss: undefined, changes: false };
const changed: Inspection = { loss: undefined, changes: true };

/**
 * Inspects a value before it is written as JSON. `code` says whether functions, symbols and objects without data are
 * losses. They are in a payload. In a result they are not: the result of a database driver has such properties.
 */
export function inspect(value: unknown, code: "refuse" | "drop"): Inspection {
  const strict = code === "refuse";
  switch (typeof value) {
    case "number":
      return Number.isFinite(value) ? unchanged : lost(`${value} would be stored as null`, notFinite);
    case "object":
      return value === null ? unchanged : inspectObject(value, strict);
    case "function":
    case "symbol":
      return strict ? lost(`a ${typeof value} has no JSON form`, plainHint) : changed;
    case "undefined":
      return changed;
    // JSON.stringify refuses a bigint, unless the application has given it a toJSON.
    case "bigint":
      return changed;
    default:
      return unchanged;
  }
}

const notFinite = "Pass a finite number, or null for no number.";

function inspectObject(value: object, strict: boolean): Inspection {
  if (Array.isArray(value)) return inspectElements(value, strict);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype && !("toJSON" in value)) return inspectProperties(value, strict);
  // Before toJSON: a Buffer has one, which takes four characters for each byte.
  if (ArrayBuffer.isView(value) || isBuffer(value)) return lossOfBytes(value);
  if ("toJSON" in value && typeof value.toJSON === "function") return inspectConvertible(value);
  const kind = Object.prototype.toString.call(value).slice(8, -1);
  const known = lossOfKind(value, kind);
  if (known !== undefined) return known;
  // JSON unwraps these three.
  if (kind === "Number" || kind === "String" || kind === "Boolean") return changed;
  if (strict && !isPlain(prototype) && Object.keys(value).length === 0)
    return lost(`${describe(value)} would be stored as {}`, plainHint);
  const { loss } = inspectProperties(value, strict);
  return loss === undefined ? changed : { loss, changes: true };
}

/** An object with its own JSON form. Only that of an invalid Date, which is null, is a loss. */
function inspectConvertible(value: object): Inspection {
  return value instanceof Date && Number.isNaN(value.getTime())
    ? lost("an invalid Date would be stored as null", "Pass a valid Date, or null for no date.")
    : changed;
}

function isBuffer(value: object): boolean {
  const kind = Object.prototype.toString.call(value);
  return kind === "[object ArrayBuffer]" || kind === "[object SharedArrayBuffer]";
}

function lossOfBytes(value: object): Inspection {
  const { name } = value.constructor;
  const numbers = ArrayBuffer.isView(value) && !(value instanceof Uint8Array) && !(value instanceof DataView);
  return lost(
    `${/^(?!U)[AEIOU]/i.test(name) ? "an" : "a"} ${name} has no JSON form`,
    numbers
      ? "Pass [...array] for numbers, or store the data elsewhere and pass a reference."
      : 'Pass Buffer.from(bytes).toString("base64"), or store the bytes elsewhere and pass a reference.',
  );
}

function lossOfKind(value: object, kind: string): Inspection | undefined {
  if (kind === "Map") return lost("a Map would be stored as {}", "Pass Object.fromEntries(map) or [...map].");
  if (kind === "Set") return lost("a Set would be stored as {}", "Pass [...set].");
  if (kind === "Promise") return lost("a Promise would be stored as {}", "Await it first.");
  if (kind === "Error" || value instanceof Error)
    return lost(
      "an Error would be stored without its message",
      "Pass { name: error.name, message: error.message }.",
    );
  return undefined;
}

/** Also the objects of another realm, such as the sandbox of a test runner, and those without a prototype. */
function isPlain(prototype: unknown): boolean {
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function describe(value: object): string {
  const { name } = value.constructor ?? {};
  return typeof name === "string" && name !== "" ? `an instance of ${name}` : "an object without properties";
}

function inspectElements(elements: readonly unknown[], strict: boolean): Inspection {
  let changes = false;
  for (let index = 0; index < elements.length; index += 1) {
    const found = inspect(elements[index], strict ? "refuse" : "drop");
    if (found.loss !== undefined) return below(found.loss, `[${index}]`);
    changes ||= found.changes;
  }
  return changes ? changed : unchanged;
}

function inspectProperties(value: object, strict: boolean): Inspection {
  let changes = false;
  for (const key of Object.keys(value)) {
    const found = inspect((value as Record<string, unknown>)[key], strict ? "refuse" : "drop");
    if (found.loss !== undefined) return below(found.loss, `.${key}`);
    changes ||= found.changes;
  }
  return changes ? changed : unchanged;
}

function below(loss: Loss, step: string): Inspection {
  return { loss: { ...loss, place: `${step}${loss.place}` }, changes: true };
}

function lost(reason: string, hint: string): Inspection {
  return { loss: { place: "", reason, hint }, changes: true };
}
