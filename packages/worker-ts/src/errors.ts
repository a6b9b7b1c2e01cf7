/** The reasons of aborts, and how errors are reported to the database. */
import { types } from "node:util";
import { type ChildError, cutText, toStorableJson } from "@jobforge/sdk-ts";
import type { RunError } from "./claiming/protocol.ts";

/** The reason of a handler's aborted `signal`. */
export class JobAbortedError extends Error {
  override readonly name: string;
  readonly kind: "timeout" | "canceled" | "lost" | "shutdown";

  constructor(kind: JobAbortedError["kind"], message: string) {
    super(message);
    this.name = errorNames[kind];
    this.kind = kind;
  }
}

const errorNames = {
  timeout: "JobTimeoutError",
  canceled: "JobCanceledError",
  lost: "LeaseLostError",
  shutdown: "WorkerShutdownError",
} as const;

/**
 * Thrown by `defer()`, `fail()` and `retryAfter()` to leave the handler. Their request holds even if this is caught.
 */
export class RunOver extends Error {
  override readonly name = "RunOver";
}

/** A child that `job.run` or `job.all` waited for ended badly. */
export class ChildFailedError extends Error {
  override readonly name = "ChildFailedError";
  /** The type of the job, or the name of the workflow. */
  readonly type: string;
  /** Its place in the list of children. */
  readonly index: number;
  readonly jobId: string | undefined;
  /** Of a child that is a workflow. */
  readonly workflowId: string | undefined;
  readonly failure: ChildError | undefined;

  constructor(
    type: string,
    index: number,
    ids: { readonly jobId: string | undefined; readonly workflowId: string | undefined },
    failure: ChildError | undefined,
  ) {
    super(`The child ${index} (${type}) ended badly: ${failure?.message ?? "it was canceled"}`);
    this.type = type;
    this.index = index;
    this.jobId = ids.jobId;
    this.workflowId = ids.workflowId;
    this.failure = failure;
  }
}

/** The error that a checkpoint has kept. The first execution throws the same form, so that both go the same way. */
export function reviveError({ name, message, stack, code }: RunError): Error {
  const error = new Error(message);
  error.name = name;
  if (stack !== undefined) error.stack = stack;
  return code === undefined ? error : Object.assign(error, { code });
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

/** The SQLSTATE of an error of the transport, if there is one. */
export function sqlState(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const { code } = error as { code?: unknown };
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/** Whether the database refused the content of a call, so that it would refuse the same call again. */
export function isDataError(error: unknown): boolean {
  const state = sqlState(error);
  return state !== undefined && (/^(22|23|54)/.test(state) || state === "JF002" || state === "JF008");
}

/** Whether the database says that this worker does not hold the job, or no longer does. */
export function isNotHeld(error: unknown): boolean {
  return sqlState(error) === "JF003";
}
