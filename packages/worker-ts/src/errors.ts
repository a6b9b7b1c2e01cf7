/** The reasons of aborts, and how errors are reported to the database. */
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

const maxNameLength = 200;
const maxStackLength = 4000;
const maxMessageLength = 4000;

/**
 * An error as JSON: name, message, stack, and the code and cause if there are any. Handles whatever was thrown:
 * libraries put objects where strings belong, and an error that cannot be described must not keep its run from ending.
 */
export function describeError(thrown: unknown): RunError {
  if (!isError(thrown)) return { name: "NonError", message: clean(thrown).slice(0, maxMessageLength) };
  const [stack, code, cause] = [part(thrown, "stack"), part(thrown, "code"), part(thrown, "cause")];
  return {
    name: clean(part(thrown, "name") ?? "Error").slice(0, maxNameLength),
    message: clean(part(thrown, "message") ?? "").slice(0, maxMessageLength),
    ...(typeof stack === "string" ? { stack: clean(stack).slice(0, maxStackLength) } : {}),
    ...(typeof code === "string" || typeof code === "number" ? { code } : {}),
    ...(isError(cause) ? { cause: clean(part(cause, "message") ?? "").slice(0, maxMessageLength) } : {}),
  };
}

/** A string that Postgres can store in jsonb: no NUL, no half of a surrogate pair. Other values are described. */
export function clean(value: unknown): string {
  return textOf(value)
    .replaceAll("\u0000", "\uFFFD")
    .replace(/\p{Surrogate}/gu, "\uFFFD");
}

export function isError(value: unknown): value is Error {
  try {
    return value instanceof Error;
  } catch {
    return false;
  }
}

/** Reads a property that may be a getter, which may throw. */
export function part(error: object, name: "name" | "message" | "stack" | "code" | "cause"): unknown {
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
