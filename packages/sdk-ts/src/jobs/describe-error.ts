/** How errors are reported to the database: by workers, and by programs that end their runs themselves. */
import { types } from "node:util";
import { toStorableJson } from "../json.ts";
import { cutText } from "./failure.ts";

/** The error of a run. `cause` and the members of an AggregateError (`errors`) have the same form. */
export interface RunError {
  readonly name: string;
  readonly message: string;
  readonly stack?: string | undefined;
  readonly code?: string | number | undefined;
  readonly cause?: RunError | undefined;
  readonly errors?: readonly RunError[] | undefined;
  /** The number of members that were left out. */
  readonly omittedErrors?: number | undefined;
  readonly [detail: string]: unknown;
}

const maxNameLength = 200;
const maxStackLength = 4000;
const maxMessageLength = 4000;
const maxMembers = 5;
const maxDepth = 6;
/** The texts of all causes and members together. With the error itself, the database keeps them whole. */
const maxInnerLength = 5000;
const maxInnerMessageLength = 1000;
const maxInnerStackLength = 1500;
/** The number of causes and members in total. */
const maxInner = 10;

/** The most that `details` of an error may take as JSON. */
const maxDetailsLength = 4000;

/**
 * An error as JSON: name, message, stack, and code, details, cause and members if there are any. Handles whatever was
 * thrown: libraries put objects where strings belong, and an error that cannot be described must not keep its run from
 * ending.
 */
export function describeError(thrown: unknown): RunError {
  return new Description().of(thrown, 0);
}

/** The description of one error with its causes, which may be many, long or circular. */
class Description {
  readonly #seen = new Set<unknown>();
  #length = maxInnerLength;

  of(thrown: unknown, depth: number): RunError {
    this.#seen.add(thrown);
    if (!isError(thrown)) return { name: "NonError", message: this.#cut(thrown, maxMessageLength, depth) };
    const [stack, code] = [part(thrown, "stack"), part(thrown, "code")];
    return {
      name: cutText(clean(part(thrown, "name") ?? "Error"), maxNameLength),
      message: this.#cut(
        part(thrown, "message") ?? "",
        depth === 0 ? maxMessageLength : maxInnerMessageLength,
        depth,
      ),
      ...(typeof stack === "string"
        ? { stack: this.#cut(stack, depth === 0 ? maxStackLength : maxInnerStackLength, depth) }
        : {}),
      ...(typeof code === "string" || typeof code === "number" ? { code } : {}),
      ...(depth === 0 ? detailsOf(thrown) : {}),
      ...this.#causeOf(thrown, depth + 1),
      ...this.#membersOf(thrown, depth + 1),
    };
  }

  #causeOf(error: Error, depth: number): Pick<RunError, "cause"> {
    const cause = part(error, "cause");
    return cause !== undefined && cause !== null && this.#mayDescribe(cause, depth)
      ? { cause: this.of(cause, depth) }
      : {};
  }

  /** Only members that are errors: libraries also have lists of other things under this name. */
  #membersOf(error: Error, depth: number): Pick<RunError, "errors" | "omittedErrors"> {
    const members = part(error, "errors");
    const errors = Array.isArray(members) ? members.filter(isError) : [];
    const described: RunError[] = [];
    for (const member of errors.slice(0, maxMembers)) {
      if (this.#mayDescribe(member, depth)) described.push(this.of(member, depth));
    }
    if (described.length === 0) return {};
    const omittedErrors = errors.length - described.length;
    return { errors: described, ...(omittedErrors > 0 ? { omittedErrors } : {}) };
  }

  #mayDescribe(error: unknown, depth: number): boolean {
    return depth <= maxDepth && this.#seen.size <= maxInner && !this.#seen.has(error);
  }

  /** The text, cut. What causes and members say is cut so that they all fit. The database masks it afterwards. */
  #cut(value: unknown, length: number, depth: number): string {
    if (depth === 0) return cutText(clean(value), length);
    const text = cutText(clean(value), Math.min(length, this.#length));
    this.#length -= text.length;
    return text;
  }
}

/** The `details` of an error, if they are an object as `job.fail()` takes it, and if they can be stored. */
function detailsOf(error: Error): { readonly details?: object } {
  try {
    const details = part(error, "details");
    if (typeof details !== "object" || details === null || Array.isArray(details)) return {};
    const { text } = toStorableJson(details, "details");
    return text.length > maxDetailsLength ? {} : { details: JSON.parse(text) };
  } catch {
    return {};
  }
}

/** A string that Postgres can store in jsonb: no NUL, no half of a surrogate pair. Other values are described. */
export function clean(value: unknown): string {
  return textOf(value)
    .replaceAll("\u0000", "\uFFFD")
    .replace(/\p{Surrogate}/gu, "\uFFFD");
}

/** Also knows the errors of another realm, such as those of Jest and `node:vm`. */
export function isError(value: unknown): value is Error {
  try {
    return types.isNativeError(value) || value instanceof Error;
  } catch {
    return false;
  }
}

/** Reads a property that may be a getter, which may throw. */
export function part(
  error: object,
  name: "name" | "message" | "stack" | "code" | "details" | "cause" | "errors",
): unknown {
  try {
    return (error as Partial<Record<typeof name, unknown>>)[name];
  } catch {
    return undefined;
  }
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  try {
    const text = String(value);
    // This text says nothing, but the JSON does.
    return text === "[object Object]" ? JSON.stringify(value) : text;
  } catch {
    return `a value without a text (${typeof value})`;
  }
}
